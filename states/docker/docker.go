// Package docker has Salt's states docker_container, docker_image, docker_network and docker_volume
// (salt/states/docker_*.py). They use the module docker.
//
// container.go and running.go have the states of containers, image.go, network.go and volume.go the others.
//
// As in Salt, a container or a network that exists is compared with a temporary one that is made of the
// arguments and removed again, in test mode too: only the engine knows what it adds to them.
//
// Differences from Salt: docker_volume.absent changes nothing in test mode, and docker_network.present connects
// no containers then. An image whose pull reported an
// error, or that is not there after all, is a failure. A new container that cannot be connected to its
// networks, or cannot take the place of the old one, is not left behind. docker_image.present cannot use
// sls, which needs a Salt in the container.
package docker

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Container returns the state docker_container.
func Container() loader.Plugin {
	return state("container", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.containerAbsent),
			loader.F("mod_watch", m.containerWatch),
			loader.F("run", m.run),
			loader.F("running", m.running),
			loader.F("stopped", m.stopped),
		}
	})
}

// Image returns the state docker_image.
func Image() loader.Plugin {
	return state("image", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.imageAbsent),
			loader.F("mod_watch", m.imageWatch),
			loader.F("present", m.imagePresent),
		}
	})
}

// Network returns the state docker_network.
func Network() loader.Plugin {
	return state("network", func(m *module) []loader.Func {
		return []loader.Func{loader.F("absent", m.networkAbsent), loader.F("present", m.networkPresent)}
	})
}

// Volume returns the state docker_volume.
func Volume() loader.Plugin {
	return state("volume", func(m *module) []loader.Func {
		return []loader.Func{loader.F("absent", m.volumeAbsent), loader.F("present", m.volumePresent)}
	})
}

type module struct{ env *loader.Env }

func state(kind string, funcs func(*module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: "docker_" + kind, Aliases: []string{"moby_" + kind}, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("docker.version") {
			return nil, errors.New("'docker.version' is not available.") //nolint:staticcheck // Salt's text
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// ask calls a function of the module docker.
func ask[R any](ctx context.Context, m *module, fun string, kwargs *data.Map, args ...any) (R, error) {
	return loader.CallAs[R](ctx, m.env, "docker."+fun, args, kwargs)
}

func (m *module) do(ctx context.Context, fun string, kwargs *data.Map, args ...any) error {
	_, err := ask[any](ctx, m, fun, kwargs, args...)
	return err
}

// missing reports whether the engine says that there is no such thing.
func missing(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "Error 404: ") }

// found returns what an inspection found, or nil if the engine says that there is no such thing.
func found(v *data.Map, err error) (*data.Map, error) {
	if missing(err) {
		return nil, nil
	}
	return v, err
}

// result is the result of a state while it is made.
type result struct {
	*data.Map
	changes *data.Map
}

func newResult(name any) result {
	changes := data.NewMap()
	return result{change.New(name, false, changes, ""), changes}
}

// end sets result and comment.
func (r result) end(verdict any, comment string) *data.Map {
	r.Set("result", verdict)
	r.Set("comment", comment)
	return r.Map
}

// sub returns the dictionary under a key of the changes.
func (r result) sub(key string) *data.Map { return sub(r.changes, key) }

func sub(m *data.Map, key any) *data.Map {
	inner, _ := m.Value(key).(*data.Map)
	if inner == nil {
		inner = data.NewMap()
		m.Set(key, inner)
	}
	return inner
}

func (r result) warn(text string) {
	warnings, _ := r.Value("warnings").([]any)
	r.Set("warnings", append(warnings, text))
}

// joined ends a result with several comments.
func (r result) joined(verdict any, comments []string) *data.Map {
	text := strings.Join(comments, ". ")
	if len(comments) > 1 {
		text += "."
	}
	return r.end(verdict, text)
}

// words returns a list, or the parts of a text with commas.
func words(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	if !data.Truth(v) {
		return nil
	}
	var parts []any
	for part := range strings.SplitSeq(data.Str(v), ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

func dict(v any) *data.Map {
	m, _ := v.(*data.Map)
	if m == nil {
		m = data.NewMap()
	}
	return m
}

// clean returns keyword arguments without those that the engine of states adds.
func clean(kwargs *data.Map) *data.Map {
	own := data.NewMap()
	for k, v := range kwargs.All() {
		if name, ok := k.(string); ok && !strings.HasPrefix(name, "__") {
			own.Set(k, v)
		}
	}
	return own
}
