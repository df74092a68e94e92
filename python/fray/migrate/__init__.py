"""Moves programs from Ray's API to Fray's own, and back: what `fray migrate` does.

Nothing else imports this package, and it imports nothing of the engine: it reads and writes programs. It needs libcst,
which the extra ``fray[migrate]`` brings.

    files       what lies on the disk, and how it is replaced
    notebook    notebooks as programs
    source      one parsed program and its names; the project that it is part of
    kinds       what expressions stand for: remote functions, actors, refs
    ray_side    how programs for Ray say so, fray_side how programs for Fray do
    from_ray    what a program for Ray has to change, to_ray what one for Fray has
    plan        which of that is moved together
    contexts, imports, rewrite    the new text
    program, command, report      all of it, for a list of files
"""
