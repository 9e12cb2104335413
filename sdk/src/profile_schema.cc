#include "cordon/sdk/profile_json.h"

namespace cordon {

std::string ProfileJsonSchema() {
  return R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "cordon profile",
  "description": "What a command may do. The default of every member is the safe choice.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "$schema": {"type": "string", "description": "Where this schema is, for editors; ignored."},
    "version": {"const": 1, "description": "The version of this format."},
    "workspace_root": {
      "type": "string",
      "description": "The folder that commands work in. Symbolic links are resolved. cordon run fills it in when it is absent."
    },
    "workspace_read": {"$ref": "#/$defs/access", "description": "Reading and executing in the workspace."},
    "workspace_write": {"$ref": "#/$defs/access", "description": "Changing the workspace."},
    "host_read": {
      "$ref": "#/$defs/access",
      "description": "Reading everything else on the host. The system's programs and libraries can be read in any case."
    },
    "host_write": {"$ref": "#/$defs/access", "description": "Changing everything else on the host."},
    "network": {
      "$ref": "#/$defs/access",
      "description": "Network targets that network_targets does not name. With allow the network is not confined."
    },
    "command": {"$ref": "#/$defs/access", "description": "Running commands."},
    "home": {
      "enum": ["isolated", "real"],
      "default": "isolated",
      "description": "isolated: HOME is an empty folder and the user's home is hidden. real: HOME is the user's home, readable but for well-known secrets."
    },
    "home_root": {
      "type": "string",
      "default": "",
      "description": "The home that this is about. Empty: $HOME, else the user's entry in passwd."
    },
    "isolation": {
      "enum": ["sandboxed", "unconfined"],
      "default": "sandboxed",
      "description": "unconfined: no boundary of the operating system. Needs ack_unconfined, and allow for every file and network member."
    },
    "ack_unconfined": {
      "type": "boolean",
      "default": false,
      "description": "Acknowledges that unconfined commands run with the caller's full authority."
    },
    "ack_tracing": {
      "type": "boolean",
      "default": false,
      "description": "Opens ptrace for debuggers, and acknowledges that the processes of a sandbox can read and steer each other."
    },
    "ack_nested_namespaces": {
      "type": "boolean",
      "default": false,
      "description": "Lets commands make user namespaces, for browsers, and acknowledges that more of the kernel can be attacked from there."
    },
    "additional_roots": {
      "type": "array",
      "description": "Trees with an access of their own; the most specific one wins.",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
          "path": {"type": "string", "pattern": "^/", "description": "Absolute. It need not exist."},
          "read": {"$ref": "#/$defs/access"},
          "write": {"$ref": "#/$defs/access"}
        }
      }
    },
    "deny_read": {
      "$ref": "#/$defs/denied",
      "description": "What is neither read, nor executed, nor written."
    },
    "deny_write": {"$ref": "#/$defs/denied", "description": "What is not written."},
    "protect_paths": {
      "type": "boolean",
      "default": true,
      "description": "Keeps git hooks and configuration, editor and agent settings and start-up files read-only inside writable roots."
    },
    "environment": {
      "type": "array",
      "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*(=.*)?$"},
      "description": "Variables besides the baseline: NAME passes the caller's value, NAME=VALUE sets one."
    },
    "network_targets": {
      "type": "array",
      "items": {"type": "string", "pattern": ":([1-9][0-9]{0,4}|\\*)$"},
      "description": "HOST:PORT; HOST may be *.example.com, an address, [v6], or a range as 10.0.0.0/8 or [2001:db8::/32]; PORT a number or *."
    },
    "network_route": {
      "enum": ["direct", "environment"],
      "default": "direct",
      "description": "The way to network targets. environment: through the proxy that HTTPS_PROXY names, but for the hosts of NO_PROXY, and never directly when it fails."
    },
    "loopback_ports": {
      "$ref": "#/$defs/ports",
      "description": "Ports of the host's own 127.0.0.1 that are reachable inside."
    },
    "publish_ports": {
      "$ref": "#/$defs/ports",
      "description": "Ports that, listened on inside, are reachable at the host's 127.0.0.1."
    },
    "unix_sockets": {
      "type": "array",
      "items": {"type": "string", "pattern": "^/"},
      "description": "Sockets of the host that are reachable inside."
    },
    "limits": {
      "type": "object",
      "additionalProperties": false,
      "description": "For the whole tree of a command; null or absent is none.",
      "properties": {
        "memory_bytes": {"$ref": "#/$defs/limit"},
        "processes": {"$ref": "#/$defs/limit"},
        "cpu_time_ms": {"$ref": "#/$defs/limit"},
        "file_size_bytes": {"$ref": "#/$defs/limit"}
      }
    },
    "audit": {
      "enum": ["optional", "required", "durable"],
      "default": "optional",
      "description": "required: nothing runs without an audit log, or when it cannot be written. durable: each record is also on the disk first."
    },
    "required_guarantees": {
      "type": "array",
      "description": "What must hold, beyond what follows from the other members, or nothing is started.",
      "items": {
        "enum": [
          "process_boundary", "write_boundary", "read_boundary", "env_scrub", "network_boundary",
          "address_network", "target_network", "resource_limits"
        ]
      }
    }
  },
  "$defs": {
    "access": {
      "enum": ["deny", "gated", "allow"],
      "default": "deny",
      "description": "gated: only with a grant for this very operation."
    },
    "denied": {
      "type": "array",
      "items": {
        "type": "string",
        "minLength": 1,
        "description": "Absolute, or below the workspace. With *, ? or [ it is a glob and overrides every allow; else the most specific rule wins."
      }
    },
    "ports": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 65535}},
    "limit": {"type": ["integer", "null"], "minimum": 1}
  }
}
)json";
}

}  // namespace cordon
