// Package runner runs low chunks: it calls state functions in the order that their requisites ask for.
//
// A Runner is one run of states on one host. Chunks takes the chunks of package state and returns a dictionary of results, by
// tag:
//
//	r, err := runner.New(runner.Options{Env: env, States: shelf, JID: jid})
//	results, err := r.Chunks(ctx, state.Low(high))
//
// State functions are found by name in a registry of package loader; package change tells them in which run they are called.
// They come as file.managed; beside them the runner calls, where a module has them, mod_init before the module's first chunk,
// mod_aggregate where chunks are to be joined, mod_watch when something changed that a chunk watches or listens to, and
// mod_run_check_cmd, whose presence says that functions with a parameter check_cmd see to it themselves.
//
// The rules are those of salt/state.py (State.call_chunks, call_chunk, check_requisite, call, call_listen). How they are laid out
// here: walk.go goes through chunks and finds out what each has to wait for, requisite.go judges requisites over index.go, call.go
// runs one chunk, with conditions.go, retry.go, slot.go and parallel.go, listen.go comes last.
//
// Requisites are looked up in an index, so that a run grows with its chunks and not with their square; only patterns go
// through all chunks, once each.
//
// What differs: onfail_all waits for states that come later, where Salt's run ends in an exception. A chunk fires one event,
// where Salt fires a second one for a chunk that had to wait for others. A result that is no dictionary, or lacks a field,
// keeps its place in the run (__run_num__, __id__, __sls__), which Salt loses. The return code that a function of unless or onlyif
// leaves is its own, never that of a state before it. A check_cmd that is a text is one command and not as many as it has
// characters. Several requisites that failed are named in the order of the chunk and not at random. A state that runs in parallel
// is a goroutine. The options provider and mod_beacon are not there.
package runner
