# What COURSE_SANITIZE compiles and links with, on top of -O1 -g1, by which a report has lines.
set(COURSE_SANITIZE_COMPILE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
    -DCOURSE_SANITIZED)
set(COURSE_SANITIZE_LINK -fsanitize=address,undefined)
