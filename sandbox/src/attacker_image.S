// The program that attacks for the conformance suite, as bytes in the library.
    .section .rodata
    .balign 16
    .global cordon_attacker_image
    .hidden cordon_attacker_image
    .type cordon_attacker_image, %object
cordon_attacker_image:
    .incbin CORDON_ATTACKER_FILE
    .global cordon_attacker_image_end
    .hidden cordon_attacker_image_end
cordon_attacker_image_end:
    .size cordon_attacker_image, . - cordon_attacker_image
    .section .note.GNU-stack, "", %progbits
