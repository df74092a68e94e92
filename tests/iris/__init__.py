"""A stand-in for Iris's controller, and the tests of the client against it.

It is built from the protocol alone: jobs and tasks have Iris's states, tasks run as processes of this machine, and the
wire has the quirks that were seen on a real controller. ``python -m tests.iris`` starts one to try things by hand.

The modules, from the wire inwards: `server` (HTTP), `connect` (codecs and errors), `faults` (what a test spoils),
`service` (the calls), `launching` (what LaunchJob takes), `jobs` (states), `scheduler`, `worker` and `process` (where
tasks run), `logs`, `endpoints`, `bundles`, `auth`, and `controller`, which puts them together.
"""
