"""`fray migrate`: moves programs from Ray's API to Fray's own, and back.

Nothing else imports this package, and it imports nothing of the engine: it only reads and writes programs. It parses
them with libcst, which the extra ``fray[migrate]`` installs.

A migration first infers what the expressions of all given programs stand for. Then it finds what has to change
(sites) and what has no counterpart (blockers), decides which sites can change together, and writes the new text.

    files                         read files and replace them
    notebook, cells, magics       the cells of a notebook as one program
    source                        a parsed program with its names, and the project of all programs
    kinds                         what expressions stand for: remote functions, actors, refs
    inference, bindings           infer the kinds of expressions, and those of names
    assignments, calls, answers   what the inference knows of the programs, and what it has found out
    ray_side, fray_side           recognize remote functions, actors and calls in programs for Ray and for Fray
    sites                         sites and blockers
    from_ray, to_ray              find the sites and blockers of a program for Ray, and of one for Fray
    text_annotations              find those in annotations that are strings
    by_name                       holds programs that reach the library by a string
    plan                          decides which sites are replaced
    restarts                      finds the functions that start or end the engine
    contexts, imports, rewrite    write the new text
    program, directions           run all of this for a list of files, in one of the two directions
    command, report               the command line
"""
