package jinja

import (
	"context"
	"path"
	"strings"
)

// A Source is a template that a Loader found.
type Source struct {
	Name    string // by which others may refer to it, and which errors tell
	Version string // changes when the text does; "" means that the text is read each time
	Read    func() (string, error)
}

// A Loader finds the templates that others name.
type Loader interface {
	// ID tells loaders apart that give the same name to different templates.
	ID() string
	// Find returns the template that parent means by name. It returns ErrNotFound, wrapped or as it is, when there is
	// none. Name is as the template has it and may try to leave the loader's directory.
	Find(ctx context.Context, name, parent string) (Source, error)
}

// ErrNotFound is returned by a Loader that has no such template.
var ErrNotFound error = &Error{Kind: NotFound, Message: "template not found"}

// A MapLoader finds templates in memory, by name; a name that begins with ./ or ../ counts from the parent's directory.
type MapLoader map[string]string

// ID implements Loader.
func (m MapLoader) ID() string { return "" }

// Find implements Loader.
func (m MapLoader) Find(_ context.Context, name, parent string) (Source, error) {
	at := name
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		at = path.Join(path.Dir(parent), name)
	}
	text, ok := m[at]
	if !ok {
		return Source{}, ErrNotFound
	}
	return Source{Name: at, Version: text, Read: func() (string, error) { return text, nil }}, nil
}
