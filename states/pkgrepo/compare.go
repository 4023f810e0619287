package pkgrepo

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/state/change"
)

// wants returns the changes to make to the repository.
func (w *desired) wants(now *data.Map) *data.Map {
	changes := &data.Map{}
	if now.Len() == 0 {
		changes.Set("repo", w.name)
		return changes
	}
	for k, want := range w.wanted.All() {
		if key := data.Str(k); key != "file" && !w.fits(key, want, now) {
			changes.Set(key, change.OldNew(now.Value(key), want))
		}
	}
	return changes
}

// fits reports whether one property of the repository is as desired.
func (w *desired) fits(key string, want any, now *data.Map) bool {
	have, ok := now.Get(key)
	rpm := w.family() == "RedHat" || w.family() == "Suse"
	switch {
	// yum treats a repository without this line as enabled
	case !ok && key == "enabled" && w.family() == "RedHat":
		return packages.True(want)
	case !ok: // properties that the package manager does not show cannot be compared
		return w.applied && !w.debian() || w.family() == "Suse" &&
			slices.Contains([]string{"gpgautoimport", "gpgkey", "refresh", "cache"}, key)
	case key == "comps" || key == "key_url" || key == "architectures" && data.Truth(want):
		return sameWords(want, have)
	case key == "architectures":
		return data.Str(want) == data.Str(have)
	case key == "line" && w.debian():
		return w.fitsLine(data.Str(want), data.Str(have))
	case key == "uri" && w.debian():
		return withoutSlashes(data.Str(want)) == withoutSlashes(data.Str(have))
	case key == "comments" && w.family() == "RedHat":
		return slices.Equal(remarks(want), remarks(have))
	case rpm && (isBool(want) || isBool(have)):
		return packages.True(want) == packages.True(have)
	}
	return data.Str(want) == data.Str(have)
}

// fitsLine compares two lines of apt. Disabled source lines are ignored.
func (w *desired) fitsLine(want, have string) bool {
	if packages.True(w.wanted.Value("disabled")) {
		return true
	}
	line, remark, _ := strings.Cut(have, "#")
	if !slices.Equal(lineWords(want), lineWords(line)) {
		return false
	}
	comments, ok := w.kwargs.Get("comments")
	return !ok || strings.TrimSpace(remark) == joined(comments)
}

// lineWords returns the words of a line, with its options and components sorted.
func lineWords(line string) []string {
	options := ""
	if head, rest, ok := strings.Cut(line, "["); ok {
		if inside, tail, ok := strings.Cut(rest, "]"); ok {
			options, line = inside, head+tail
		}
	}
	words := strings.Fields(withoutSlashes(line))
	if len(words) > 3 {
		slices.Sort(words[3:])
	}
	return append(words, slices.Sorted(slices.Values(strings.Fields(options)))...)
}

// joined returns comments as one line (salt/utils/pkg/deb.py, combine_comments).
func joined(comments any) string {
	list, ok := comments.([]any)
	if !ok {
		return strings.TrimSpace(data.Str(comments))
	}
	return strings.TrimSpace(strings.Join(data.Texts(list), " "))
}

// remarks returns comments without comment signs (salt/utils/pkg/rpm.py, combine_comments).
func remarks(comments any) []string {
	list, ok := comments.([]any)
	if !ok {
		list = []any{comments}
	}
	out := data.Texts(list)
	for i, c := range out {
		out[i] = strings.TrimLeft(strings.TrimLeft(c, "#"), " \t")
	}
	return out
}

// sameWords reports whether two lists have the same elements, in any order.
func sameWords(a, b any) bool {
	x, ok := a.([]any)
	y, also := b.([]any)
	if !ok || !also {
		return data.Str(a) == data.Str(b)
	}
	return slices.Equal(slices.Sorted(slices.Values(data.Texts(x))),
		slices.Sorted(slices.Values(data.Texts(y))))
}

func isBool(v any) bool { _, ok := v.(bool); return ok }
