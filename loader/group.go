package loader

import (
	"slices"
	"strings"
)

// A Group is a group of plug-ins that a small build leaves out unless it has the group's build tag.
type Group struct {
	Tag   string // build tag that brings it back
	Names string // virtual names that only the group provides, separated by blanks
	// Kept means that a small build has the group, unless it has a build tag of "no" and Tag.
	Kept    bool
	Plugins []Plugin // none if this build leaves the group out
}

// LeftOut makes the reason why a function is not available name the build tag that brings it back,
// if its module is in a group without plug-ins.
func (r *Registry) LeftOut(groups []Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups = slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return len(g.Plugins) > 0 })
}

// leftOut returns the reason why this build has no module of that name, or "".
func (r *Registry) leftOut(module string) string {
	if r == nil {
		return ""
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, g := range r.groups {
		if !slices.Contains(strings.Fields(g.Names), module) {
			continue
		}
		if g.Kept {
			return "this small build leaves it out: build without the tag no" + g.Tag
		}
		return "this small build leaves it out: build with -tags small," + g.Tag
	}
	return ""
}
