package replica

import (
	"fmt"
	"strings"
)

// An entry is a key of a bank, with its name on the shelf.
type entry struct{ name, bank, key string }

// mode is how changes of a bank are shared.
type mode int

const (
	private mode = iota // not at all
	lazy
	durable
)

func (b *Bank) modeOf(bank string) mode {
	for _, top := range b.o.Durable {
		if covers(top, bank) {
			return durable
		}
	}
	for _, top := range b.o.Lazy {
		if covers(top, bank) {
			return lazy
		}
	}
	return private
}

// covers reports whether bank is top or below it.
func covers(top, bank string) bool {
	rest, ok := strings.CutPrefix(bank, top)
	return ok && (rest == "" || rest[0] == '/')
}

// join returns the name on the shelf of a key of a bank.
func join(bank, key string) (string, error) {
	if err := checkBank(bank); err != nil {
		return "", err
	}
	if !valid(key) {
		return "", fmt.Errorf("cache key %q is not valid", key)
	}
	return bank + "/" + key, nil
}

// split is the reverse of join. Names that lead elsewhere are errors.
func split(name string) (bank, key string, err error) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", "", fmt.Errorf("%q names no key of a bank", name)
	}
	bank, key = name[:i], name[i+1:]
	_, err = join(bank, key)
	return bank, key, err
}

// second returns the bank of two names that contains a bank or is it, "" if it has one name.
func second(bank string) string {
	top, rest, ok := strings.Cut(bank, "/")
	if !ok {
		return ""
	}
	below, _, _ := strings.Cut(rest, "/")
	return top + "/" + below
}

func checkBank(bank string) error {
	for part := range strings.SplitSeq(bank, "/") {
		if !valid(part) {
			return fmt.Errorf("cache bank %q is not valid", bank)
		}
	}
	return nil
}

func valid(part string) bool {
	return part != "" && part[0] != '.' && !strings.ContainsAny(part, "/\\\x00")
}
