package ipsets

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/process"
)

// A Set is a set with its members.
type Set struct {
	kind    kind
	members []member
	texts   []string // of the members
}

// A member is an entry of a set: its parts, and its options such as a comment.
type member struct {
	parts   []part
	options map[string]string
	nomatch bool
}

// New returns a set with the fields that ipset reports of it and the lines of its members.
func New(info *data.Map, members []string) *Set {
	s := &Set{kind: kindOf(info), texts: members}
	for _, text := range members {
		s.members = append(s.members, s.kind.parse(text))
	}
	return s
}

// Has reports whether the set has an entry with its options. Of a range of addresses or ports it must
// have all. An address is there, too, if the smallest network that contains it has the options.
//
// Timeouts are equal if both end or both do not, whatever is left of them. Counters are not compared.
func (s *Set) Has(entry string) bool {
	e := s.kind.parse(entry)
	found := uint64(0)
	for _, m := range s.members {
		if e.covers(m) && m.fits(e) {
			found++
		}
	}
	size := e.size()
	if size != 1 || found == 1 {
		return found == size
	}
	var closest *member
	for i, m := range s.members {
		if m.contains(e) && (closest == nil || m.narrower(*closest)) {
			closest = &s.members[i]
		}
	}
	return closest != nil && closest.fits(e)
}

// Find returns the members that adding an entry makes, as far as they are in the set, without their
// options. whole reports whether they are all of them. Of the options, only nomatch is compared: the
// others do not tell members apart.
func (s *Set) Find(entry string) (elements []string, whole bool) {
	e := s.kind.parse(entry)
	for i, m := range s.members {
		if e.covers(m) && m.nomatch == e.nomatch {
			element, _, _ := strings.Cut(s.texts[i], " ")
			elements = append(elements, element)
		}
	}
	return elements, uint64(len(elements)) == e.size()
}

// Words returns the words of an entry with its options. A comment is one word, without quotes.
func Words(entry string) []string {
	words, err := process.Words(entry)
	if err != nil || len(words) == 0 {
		words = strings.Fields(entry)
	}
	if len(words) == 0 {
		return []string{entry}
	}
	at := slices.Index(words, "comment")
	if at <= 0 || at+2 >= len(words) {
		return words
	}
	end := at + 1
	for end < len(words) && !slices.Contains(strings.Fields(Options), words[end]) {
		end++
	}
	return slices.Concat(words[:at+1], []string{strings.Join(words[at+1:end], " ")}, words[end:])
}

// Options are the options of entries, of all types of sets.
const Options = "timeout packets bytes skbmark skbprio skbqueue nomatch"

// parse returns an entry of a set, or a member.
func (k kind) parse(text string) member {
	words := Words(text)
	m := member{options: map[string]string{}}
	values := strings.Split(words[0], ",")
	for i, name := range k.parts {
		if i >= len(values) {
			break
		}
		m.parts = append(m.parts, k.part(name, values[i]))
	}
	for i := 1; i < len(words); i++ {
		option, v := words[i], ""
		if option == "nomatch" {
			m.nomatch = true
			continue
		}
		if i++; i < len(words) {
			v = words[i]
		}
		m.set(option, v)
	}
	return m
}

// set keeps an option in the form in which the kernel reports it.
func (m *member) set(option, v string) {
	number := func(text string, base, bits int) string {
		n, err := strconv.ParseUint(text, base, bits)
		if err != nil {
			return text
		}
		return strconv.FormatUint(n, 10)
	}
	switch option {
	case "packets", "bytes": // they count on
	case "before", "after": // they are a place in a list
	case "timeout":
		m.options[option] = strconv.FormatBool(number(v, 0, 32) == "0")
	case "comment":
		if v != "" { // as the kernel keeps none
			m.options[option] = v
		}
	case "skbmark":
		mark, mask, masked := strings.Cut(v, "/")
		if !masked {
			mask = "0xffffffff"
		}
		m.options[option] = number(mark, 0, 32) + "/" + number(mask, 0, 32)
	case "skbprio":
		major, minor, _ := strings.Cut(v, ":")
		m.options[option] = number(major, 16, 16) + ":" + number(minor, 16, 16)
	case "skbqueue":
		m.options[option] = number(v, 0, 16)
	default:
		m.options[option] = v
	}
}

// fits reports whether a member has the options of an entry.
func (m member) fits(entry member) bool {
	same := func(option string) bool { return m.options[option] == entry.options[option] }
	return m.nomatch == entry.nomatch && !slices.ContainsFunc(slices.Collect(maps.Keys(entry.options)),
		func(option string) bool { return !same(option) })
}

// each reports whether two entries have as many parts, and all of them are related. A member may have
// one more: a hardware address that is not asked for.
func each(m, entry member, related func(m, entry part) bool) bool {
	if len(m.parts) < len(entry.parts) || len(entry.parts) == 0 {
		return false
	}
	for i, p := range entry.parts {
		if !related(m.parts[i], p) {
			return false
		}
	}
	return true
}

// covers reports whether a member is one of those that adding the entry makes.
func (m member) covers(one member) bool {
	return each(one, m, func(one, of part) bool { return of.covers(one) })
}

// contains reports whether the parts of an entry are in those of the member.
func (m member) contains(entry member) bool {
	return each(m, entry, func(m, of part) bool { return m.covers(of) || m.contains(of) })
}

// narrower reports whether a member is looked up before another: the first of their networks that
// differ decides.
func (m member) narrower(than member) bool {
	return slices.CompareFunc(m.parts, than.parts, func(a, b part) int {
		return cmp.Compare(a.bits(), b.bits())
	}) > 0
}

// size returns how many members adding an entry makes.
func (m member) size() uint64 {
	n := uint64(1)
	for _, p := range m.parts {
		over, product := bits.Mul64(n, p.size())
		if over > 0 {
			return math.MaxUint64
		}
		n = product
	}
	return n
}
