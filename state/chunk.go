package state

import "github.com/brineproject/brine/data"

// A Chunk is a low chunk: one call of a state function. It is a dictionary with the fixed keys
// below, requisites and the arguments of the function. Its methods read the dictionary each time,
// because mod_aggregate and the runner change it. State functions and outputs receive Map, not the
// Chunk.
//
// Names, IDs and SLS are text, except in the chunks of some calls of state.single, state.low and
// state.pkg.
type Chunk struct{ *data.Map }

// State returns the module of the state function: pkg.
func (c Chunk) State() string { return data.Str(c.Value("state")) }

// Fun returns the function within its module: installed.
func (c Chunk) Fun() string { return data.Str(c.Value("fun")) }

// Function returns the full name of the state function: pkg.installed.
func (c Chunk) Function() string { return c.State() + "." + c.Fun() }

// Name returns the argument name, nil if it is missing.
func (c Chunk) Name() any { return c.Value("name") }

// ID returns the ID of the state, nil if it is missing.
func (c Chunk) ID() any { return c.Value("__id__") }

// SLS returns the SLS that declares the state, nil if there is none.
func (c Chunk) SLS() any { return c.Value("__sls__") }

// HasSLS reports whether the chunk comes from an SLS. The chunk of state.single does not.
func (c Chunk) HasSLS() bool { return c.Has("__sls__") }

// Env returns the environment of the SLS, base if there is none.
func (c Chunk) Env() string {
	if saltenv, ok := c.Get("__env__"); ok {
		return data.Str(saltenv)
	}
	return "base"
}

// Tag returns the key of the chunk's result: STATE_|-ID_|-NAME_|-FUN (salt/state.py, _gen_tag).
func (c Chunk) Tag() string {
	const sep = "_|-"
	return c.State() + sep + data.Str(c.ID()) + sep + data.Str(c.Name()) + sep + c.Fun()
}

// Clone returns a copy of the chunk that shares its values.
func (c Chunk) Clone() Chunk { return Chunk{c.Map.Clone()} }

// List returns the dictionaries of chunks as a list, for outputs and mod_aggregate.
func List(chunks []Chunk) []any {
	list := make([]any, len(chunks))
	for i, chunk := range chunks {
		list[i] = chunk.Map
	}
	return list
}
