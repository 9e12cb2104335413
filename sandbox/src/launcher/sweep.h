// Removes the scratch folder of the process that the launcher serves, when that process died
// without doing it.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SWEEP_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SWEEP_H_

namespace cordon::launcher {

// Removes the folder `name` of `parent` with everything below it, following no link, with two
// descriptors for any depth. Others may still be writing to it, so it is tried again for a bounded
// time.
void Sweep(int parent, const char* name);

// Removes what is at the absolute path `path`, whatever it is; follows no link on the way.
void RemovePath(const char* path);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SWEEP_H_
