package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// ErrUnknownNodegroup is wrapped by ExpandNodegroup when there is no group of that name, or it is neither text
// nor a list.
var ErrUnknownNodegroup = errors.New("unknown node group")

// ExpandNodegroup returns the words of the compound target that a node group stands for: its own, with the groups
// that they name put in between brackets (salt/utils/minions.py, nodegroup_comp). A group of bare names becomes
// one L@ word, one of names with regular-expression characters one E@ word. A group inside that is unknown, or
// that holds itself, vanishes.
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

// ErrCircular is wrapped for node groups that name one another.
var ErrCircular = errors.New("circular node groups")

// CheckCircular returns an error that names the groups of a circle to which the N@ words of a compound target lead. Such a
// target may well have a meaning, since Salt leaves out what names itself; mostly it has none.
func CheckCircular(words []string, groups *data.Map) error {
	x := circles{expansion: expansion{groups: groups}, done: map[string]bool{}}
	return x.look(words)
}

// circles looks for groups that name one another.
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
			return fmt.Errorf("%w: %s", ErrCircular, clip(strings.Join(append(slices.Clone(x.open[i:]), name), " names ")))
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

// An expansion puts node groups into one another.
type expansion struct {
	groups *data.Map
	open   []string // groups that are being expanded, to find loops
	words  int      // looked at so far
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

// expand returns the words of a group in brackets, and whether other groups were named in it.
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

// inside expands a group that another one names.
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

// joinNames makes one word of a group that has no operators, no engines and no wildcards; otherwise it returns nil.
func joinNames(words []string) []string {
	engine := "L@"
	for _, w := range words {
		if isOperator(w) || strings.Contains(w, "*") || len(w) > 1 && w[1] == '@' && 'A' <= w[0] && w[0] <= 'Z' {
			return nil
		}
		if strings.ContainsAny(w, `([{\?}])`) {
			engine = "E@"
		}
	}
	return []string{engine + strings.Join(words, ",")}
}
