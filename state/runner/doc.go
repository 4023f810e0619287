// Package runner runs low chunks: it calls state functions in the order that their requisites
// demand.
//
// A Runner is one run of states on one host. Chunks takes the chunks of package state and returns
// their results by tag:
//
//	r, err := runner.New(runner.Options{Env: env, States: shelf, JID: jid})
//	results, err := r.Chunks(ctx, state.Low(high))
//
// State functions come from a registry of package loader and are looked up by names such as
// file.managed. Package change gives them access to the run. If a module has them, the runner also
// calls mod_init before the module's first chunk, mod_aggregate to join chunks, and mod_watch if
// something changed that a chunk watches or listens to. The presence of mod_run_check_cmd means
// that functions with a parameter check_cmd evaluate it themselves.
//
// The rules are those of salt/state.py (State.call_chunks, call_chunk, check_requisite, call,
// call_listen). The code is laid out as follows: walk.go iterates over chunks and finds their unmet
// requisites; requisite.go evaluates requisites using index.go; call.go runs one chunk, with
// conditions.go, retry.go, slot.go and parallel.go; listen.go comes last.
//
// Requisites are looked up in an index, so the time of a run is linear in the number of chunks, not
// quadratic. Only a pattern requires a scan of all chunks, once per pattern.
//
// Differences from Salt: onfail_all waits for later states, whereas Salt's run ends with an
// exception. A chunk fires one event, whereas Salt fires a second one for a chunk that had to wait
// for others. A result that is not a dictionary or lacks a field keeps __run_num__, __id__ and
// __sls__, which Salt loses. The return code of a function in unless or onlyif is its own, never
// left over from an earlier state. A check_cmd that is a string is one command, not one for each
// character. Several failed requisites are listed in the order of the chunk, not at random. A
// parallel state is a goroutine. The requisites of a chunk do not count again for its mod_beacon, which
// in Salt fails for them. The option providers is not supported.
package runner
