package loader

import (
	"errors"
	"strings"
)

// A Group is a group of plug-ins that a small build leaves out.
type Group struct {
	Tag     string // build tag that brings it back
	Plugins string // virtual names, separated by blanks
}

// LeftOut returns plug-ins that stand for those of the group with this tag. They are never
// available; the reason names the tag.
func LeftOut(tag string, groups []Group) []Plugin {
	var list []Plugin
	for _, g := range groups {
		if g.Tag != tag {
			continue
		}
		for name := range strings.FieldsSeq(g.Plugins) {
			list = append(list, Plugin{Name: name, New: func(*Env) (*Module, error) {
				return nil, errors.New("this small build leaves it out: build with -tags small," + tag)
			}})
		}
	}
	return list
}
