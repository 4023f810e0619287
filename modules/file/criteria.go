package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/process"
)

// newFinder parses the options of file.find. complaint describes a wrong option.
func newFinder(env *loader.Env, options *data.Map) (f *finder, complaint string, err error) {
	f = &finder{env: env, maxDepth: -1, found: []any{}}
	for key, v := range options.All() {
		name, _ := key.(string)
		if strings.HasPrefix(name, "_") {
			continue
		}
		if err := f.option(strings.ToLower(name), name, v); err != nil {
			var fault *loader.Error
			if errors.As(err, &fault) {
				return nil, "", err
			}
			return nil, "error: " + err.Error(), nil
		}
	}
	if len(f.actions) == 0 {
		f.actions = []action{printed("")}
	}
	f.criteria = slices.Concat(f.criteria, f.stats, f.readsLast)
	return f, "", nil
}

// option parses one option. Errors of package loader are raised; others become the result.
func (f *finder) option(key, given string, v any) (err error) {
	switch given {
	case "mindepth":
		f.minDepth, err = loader.Int(v)
		return err
	case "maxdepth":
		if v != nil {
			f.maxDepth, err = loader.Int(v)
		}
		return err
	case "test":
		f.test = data.Truth(v)
		return nil
	}
	if !data.Truth(v) {
		return fmt.Errorf(`missing value for "%s" option`, given) // %q would escape
	}
	value := data.Str(v)
	switch key {
	case "print":
		f.actions = append(f.actions, printed(value))
	case "exec":
		f.actions = append(f.actions, f.ran(value))
	case "delete":
		return f.deletes(value)
	default:
		return f.criterion(key, given, value)
	}
	return nil
}

func (f *finder) deletes(letters string) error {
	if strings.Contains(letters, "a") {
		letters = "bcdpfls"
	}
	meets, err := ofType(letters)
	f.stats = append(f.stats, meets)
	f.actions = append(f.actions, f.removed)
	return err
}

// criterion adds a condition for files.
func (f *finder) criterion(key, given, value string) error {
	meets, err := criterion(nil), error(nil)
	glob := strings.NewReplacer(".", `\.`, "?", ".?", "*", ".*").Replace(value) + "$"
	switch key {
	case "name":
		meets, err = named(glob, false, reError)
	case "iname":
		meets, err = named(glob, true, reError)
	case "regex", "iregex":
		meets, err = named(value, key == "iregex",
			// %q would escape
			func(error) error { return fmt.Errorf(`invalid regular expression: "%s"`, value) })
	case "grep":
		meets, err = holds(value)
		f.readsLast = append(f.readsLast, meets)
		return err
	case "type":
		meets, err = ofType(value)
	case "owner", "group":
		meets, err = ownedBy(key, value)
	case "size":
		meets, err = ofSize(value)
	case "mtime":
		meets, err = ofTime(value)
	default:
		return fmt.Errorf(`invalid option "%s"`, given) // %q would escape
	}
	if strings.HasSuffix(key, "name") || strings.HasSuffix(key, "regex") {
		f.criteria = append(f.criteria, meets)
	} else {
		f.stats = append(f.stats, meets)
	}
	return err
}

// named returns a criterion: the expression matches the beginning of the name.
func named(expr string, fold bool, wrap func(error) error) (criterion, error) {
	re, err := match.CompileAtStart(expr, fold, false)
	if err != nil {
		return nil, wrap(err)
	}
	return func(c candidate) (bool, error) {
		ok, err := re.Match(c.name)
		if err != nil {
			return false, reError(err)
		}
		return ok, nil
	}, nil
}

// kinds returns the file type for a letter of file.find.
func kinds(letter rune) (uint32, bool) {
	kind, ok := map[rune]uint32{'b': kindBlock, 'c': kindChar, 'd': kindDir,
		'f': kindFile, 'l': kindLink, 'p': kindPipe, 's': kindSocket}[letter]
	return kind, ok
}

func ofType(letters string) (criterion, error) {
	want := map[uint32]bool{}
	for _, letter := range strings.Join(strings.Fields(strings.ReplaceAll(letters, ",", "")), "") {
		kind, ok := kinds(letter)
		if !ok {
			return nil, fmt.Errorf(`invalid file type "%c"`, letter)
		}
		want[kind] = true
	}
	return func(c candidate) (bool, error) { return want[c.stat.mode&kindMask], nil },
		nil
}

// ownedBy returns a criterion: the file belongs to one of the users or groups.
func ownedBy(key, value string) (criterion, error) {
	wanted := map[any]bool{}
	for _, name := range strings.Fields(strings.ReplaceAll(value, ",", " ")) {
		id, err := ownerID(key, name)
		if err != nil {
			return nil, err
		}
		if id == "" {
			return nil, fmt.Errorf(`no such %s "%s"`, // %q would escape
				map[string]string{"owner": "user", "group": "group"}[key], name)
		}
		wanted[id] = true
	}
	return func(c candidate) (bool, error) {
		return wanted[c.stat.owner(key)], nil
	}, nil
}

// ofSize parses sizes such as 10, +1k and -1.5M.
func ofSize(value string) (criterion, error) {
	number := strings.TrimSpace(value)
	style := ""
	if number != "" && strings.IndexByte("+-", number[0]) >= 0 {
		style, number = number[:1], number[1:]
	}
	unit := int64(1)
	if number != "" {
		if i := strings.IndexByte("bkmgt", number[len(number)-1]|0x20); i >= 0 {
			unit, number = 1<<(10*i), strings.TrimSpace(number[:len(number)-1])
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(n)*float64(unit) > math.MaxInt64/2 {
		return nil, fmt.Errorf(`invalid size: "%s"`, value) // %q would escape
	}
	least := int64(n * float64(unit))
	most := least + unit - 1
	switch style {
	case "-":
		least, most = 0, least
	case "+":
		most = math.MaxInt64
	}
	return func(c candidate) (bool, error) { return least <= c.stat.size && c.stat.size <= most, nil }, nil
}

// interval matches times such as 1w 2d 3h 4m 5s.
func interval() *regexp.Regexp {
	const n = `(?:([0-9]+(?:\.[0-9]*)?)\s*`
	return regexp.MustCompile(`(?i)^\s*([+-]?)` + n + `w)?\s*` + n + `d)?\s*` + n + `h)?\s*` +
		n + `m)?\s*` +
		n + `s)?\s*$`)
}

// ofTime returns a criterion: the file changed before a time ago, or with a minus since then. Times
// are rounded to their smallest unit.
func ofTime(value string) (criterion, error) {
	m := interval().FindStringSubmatch(value)
	if m == nil {
		return nil, fmt.Errorf("invalid time interval: '%s'", value)
	}
	seconds, unit := 0.0, 0.0
	for i, size := range []float64{604800, 86400, 3600, 60, 1} {
		if m[i+2] != "" {
			n, _ := strconv.ParseFloat(m[i+2], 64)
			seconds, unit = seconds+n*size, size
		}
	}
	if unit == 0 {
		return nil, loader.TypeError("unsupported operand type(s) for /: 'int' and 'NoneType'")
	}
	limit := float64(time.Now().UnixNano())/1e9 - math.Trunc(seconds/unit)*unit
	return func(c candidate) (bool, error) {
		changed := math.Floor(c.stat.mtime)
		if m[1] == "-" {
			return changed >= limit, nil
		}
		return changed <= limit, nil
	}, nil
}

// holds returns a criterion: the expression matches in the content of a regular file.
func holds(expr string) (criterion, error) {
	re, err := match.CompileGroups(expr, false, false)
	if err != nil {
		return nil, fmt.Errorf(`invalid regular expression: "%s"`, expr) // %q would escape
	}
	return func(c candidate) (bool, error) {
		if c.stat.mode&kindMask != kindFile {
			return false, nil
		}
		f, err := open(c.path)
		if err != nil {
			return false, err
		}
		defer f.Close()
		return anyPiece(f, re.Match)
	}, nil
}

// anyPiece applies is to overlapping pieces of a text: 256 kB each, starting every 32 kB
// (salt/utils/filebuffer.py).
func anyPiece(r io.Reader, is func(string) (bool, error)) (bool, error) {
	const size, step = 256 << 10, 32 << 10
	buf := make([]byte, size)
	n, err := io.ReadFull(r, buf)
	for n > 0 {
		ok, fault := is(string(buf[:n]))
		if ok || fault != nil || err != nil {
			if fault != nil {
				fault = reError(fault)
			}
			return ok, fault
		}
		copy(buf, buf[step:])
		var more int
		more, err = io.ReadFull(r, buf[size-step:])
		if more == 0 {
			break
		}
		n = size - step + more
	}
	return false, nil
}

// printed returns an action that reports fields of a file, or its path if no fields are given.
func printed(fields string) action {
	list := strings.Fields(strings.ReplaceAll(fields, ",", " "))
	if len(list) == 0 {
		list = []string{"path"}
	}
	return func(_ context.Context, c candidate) (any, bool, error) {
		result := []any{}
		for _, field := range list {
			v, ok, err := c.field(field)
			if err != nil {
				return nil, false, err
			}
			if ok {
				result = append(result, v)
			}
		}
		if len(result) == 1 {
			return result[0], true, nil
		}
		return result, true, nil
	}
}

// field returns one field of a file.
func (c candidate) field(name string) (any, bool, error) {
	mode := c.stat.mode
	switch name {
	case "path":
		return c.path, true, nil
	case "name":
		return c.name, true, nil
	case "size":
		return c.stat.size, true, nil
	case "type":
		return map[uint32]string{kindBlock: "b", kindChar: "c", kindDir: "d",
			kindFile: "f", kindLink: "l", kindPipe: "p",
			kindSocket: "s"}[mode&kindMask], true, nil
	case "mode":
		return int64(mode & 0o777), true, nil
	case "mtime":
		return int64(math.Floor(c.stat.mtime)), true, nil
	case "user", "group":
		return c.stat.ownerName(name), true, nil
	case "md5":
		if mode&kindMask != kindFile {
			return "", true, nil
		}
		sum, err := hashFile(c.path, "md5")
		return sum, true, err
	}
	return nil, false, nil
}

// ran returns an action that runs a command for a file and reports its output.
func (f *finder) ran(command string) action {
	return func(ctx context.Context, c candidate) (any, bool, error) {
		line := strings.ReplaceAll(command, "{}", c.path)
		words, err := process.Words(line)
		if err != nil || len(words) == 0 {
			return c.path + ": Failed", true, nil //nolint:nilerr // Salt's result
		}
		var out strings.Builder
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stdout = &out
		err = f.env.Run(ctx, cmd)
		var status *exec.ExitError
		if err != nil && !errors.As(err, &status) {
			return c.path + ": Failed", true, nil
		}
		return line + ":\n" + out.String() + "\n", true, nil
	}
}
