// The launcher program, as bytes in the library.
    .section .rodata
    .balign 16
    .global cordon_launcher_image
    .hidden cordon_launcher_image
    .type cordon_launcher_image, %object
cordon_launcher_image:
    .incbin CORDON_LAUNCHER_FILE
    .global cordon_launcher_image_end
    .hidden cordon_launcher_image_end
cordon_launcher_image_end:
    .size cordon_launcher_image, . - cordon_launcher_image
    .section .note.GNU-stack, "", %progbits
