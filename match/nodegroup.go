package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// ErrUnknownNodegroup is wrapped by ExpandNodegroup if there is no group of that name, or its
// definition is neither text nor a list.
var ErrUnknownNodegroup = errors.New("unknown node group")

// ExpandNodegroup returns the words of the compound target that a node group stands for. Groups
// that it names are inserted in brackets (salt/utils/minions.py, nodegroup_comp). A group of plain
// names becomes one L@ word, and one of names with regular-expression characters becomes one E@
// word. An inner group that is unknown, or that contains itself, vanishes.
func ExpandNodegroup(name string, groups *data.Map) ([]string, error) {
	x := expansion{groups: groups}
	def, err := x.definition(name)
	if err != nil {
		return nil, err
	}
	words, nested, err := x.expand(name, def)
	if err != nil {
		return nil, err
	}
	if nested {
		return words, nil
	}
	if joined := joinNames(def); joined != nil {
		return joined, nil
	}
	return def, nil
}

// A NodegroupError names a node group that a target has and the configuration does not.
type NodegroupError struct{ Name string }

// Error returns the text.
func (e *NodegroupError) Error() string { return "there is no node group " + e.Name }

// ExpandTarget returns a target with its node groups expanded, so that minions need not know them: one of
// the kind nodegroup or compound as a compound, others as they are (salt/client/__init__.py, _prep_pub).
// The error is a *NodegroupError, or that of a definition that cannot be used.
func ExpandTarget(target, kind string, groups *data.Map) (expanded, as string, err error) {
	var words []string
	switch kind {
	case "nodegroup":
		words = []string{"N@" + target}
	case "compound":
		words = strings.Fields(target)
	default:
		return target, kind, nil
	}
	var all []string
	for _, w := range words {
		group, ok := strings.CutPrefix(w, "N@")
		if !ok || group == "" {
			all = append(all, w)
			continue
		}
		more, err := ExpandNodegroup(group, groups)
		if errors.Is(err, ErrUnknownNodegroup) {
			return "", "", &NodegroupError{group}
		}
		if err != nil {
			return "", "", err
		}
		all = append(all, more...)
	}
	return strings.Join(all, " "), "compound", nil
}

// ErrCircular is wrapped for node groups that refer to one another.
var ErrCircular = errors.New("circular node groups")

// CheckCircular returns an error that names the groups of a cycle reachable from the N@ words of a
// compound target. Such a target can still have a meaning, since Salt drops groups that refer to
// themselves; usually it has none.
func CheckCircular(words []string, groups *data.Map) error {
	x := circles{expansion: expansion{groups: groups}, done: map[string]bool{}}
	return x.look(words)
}

// circles finds groups that refer to one another.
type circles struct {
	expansion
	done map[string]bool
}

func (x *circles) look(words []string) error {
	for _, w := range words {
		name, ok := strings.CutPrefix(w, "N@")
		if !ok || x.done[name] || len(x.open) >= MaxDepth {
			continue
		}
		if i := slices.Index(x.open, name); i >= 0 {
			return fmt.Errorf("%w: %s", ErrCircular,
				clip(strings.Join(append(slices.Clone(x.open[i:]), name), " names ")))
		}
		def, err := x.definition(name)
		if err != nil {
			continue
		}
		x.open = append(x.open, name)
		if err := x.look(def); err != nil {
			return err
		}
		x.open = x.open[:len(x.open)-1]
		x.done[name] = true
	}
	return nil
}

// An expansion inserts node groups into one another.
type expansion struct {
	groups *data.Map
	open   []string // groups that are being expanded, to find loops
	words  int      // processed so far
}

func (x *expansion) definition(name string) ([]string, error) {
	switch def := x.groups.Value(name).(type) {
	case string:
		return fields(def), nil
	case []any:
		return texts(def), nil
	case data.Tuple:
		return texts(def), nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownNodegroup, clip(name))
}

func texts(list []any) []string {
	words := make([]string, 0, len(list))
	for _, v := range list {
		words = append(words, word(v))
	}
	return words
}

// expand returns the words of a group in brackets, and whether it refers to other groups.
func (x *expansion) expand(name string, def []string) (words []string, nested bool, err error) {
	if len(x.open) >= MaxDepth {
		return nil, false, fmt.Errorf("node group %q: %w", clip(name), ErrTooBig)
	}
	x.open = append(x.open, name)
	defer func() { x.open = x.open[:len(x.open)-1] }()
	for _, w := range def {
		if x.words++; x.words > maxWords {
			return nil, false, fmt.Errorf("node group %q: %w", clip(name), ErrTooBig)
		}
		group, ok := strings.CutPrefix(w, "N@")
		if !ok || group == "" {
			words = append(words, w)
			continue
		}
		nested = true
		inner, err := x.inside(group)
		if err != nil {
			return nil, false, err
		}
		words = append(words, inner...)
	}
	if len(words) > 0 {
		words = append(append([]string{"("}, words...), ")")
	}
	return words, nested, nil
}

// inside expands a group that another one refers to.
func (x *expansion) inside(name string) ([]string, error) {
	def, err := x.definition(name)
	if err != nil || slices.Contains(x.open, name) {
		return nil, nil
	}
	words, _, err := x.expand(name, def)
	if err != nil {
		return nil, err
	}
	if joined := joinNames(def); joined != nil {
		return joined, nil
	}
	return words, nil
}

// joinNames makes one word of a group without operators, engines and wildcards; otherwise it
// returns nil.
func joinNames(words []string) []string {
	engine := "L@"
	for _, w := range words {
		if isOperator(w) || strings.Contains(w, "*") || len(w) > 1 && w[1] == '@' && 'A' <= w[0] &&
			w[0] <= 'Z' {
			return nil
		}
		if strings.ContainsAny(w, `([{\?}])`) {
			engine = "E@"
		}
	}
	return []string{engine + strings.Join(words, ",")}
}
