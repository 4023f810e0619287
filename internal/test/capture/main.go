// Program capture renews the results in files of calls (package calls) with an installed Salt.
//
//	capture -salt /usr/bin/salt-call [-name OUT=/tmp/out]... FILE...
//
// A new case needs fun, and args and kwargs if it has any. Each function is run by salt-call
// --local, with its arguments as JSON. A case whose result is unchanged keeps its text, and so does
// one with $ values, which salt-call does not print. Review the difference before you commit it.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	s := &salt{}
	flags := flag.NewFlagSet("capture", flag.ContinueOnError)
	flags.StringVar(&s.program, "salt", "", "the salt-call to run")
	flags.Func("name", "WORD=TEXT: what stands for a word in the files", func(pair string) error {
		word, text, ok := strings.Cut(pair, "=")
		if !ok || word == "" || text == "" {
			return errors.New("it is not WORD=TEXT")
		}
		s.given, s.kept = append(s.given, word, text), append(s.kept, text, word)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.program == "" || flags.NArg() == 0 {
		return errors.New("it needs -salt and a file of calls")
	}
	for _, file := range flags.Args() {
		if err := s.renew(file, out); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// salt is the Salt installation that produces the results.
type salt struct {
	program     string
	given, kept []string // pairs of words and replacements, and the other way round
}

// A call is one case of a file, with its result as written there.
type call struct {
	Fun         string                     `json:"fun"`
	Args        []json.RawMessage          `json:"args"`
	Kwargs      map[string]json.RawMessage `json:"kwargs"`
	Value       json.RawMessage            `json:"value"`
	Error       *string                    `json:"error"`
	ErrorBegins *string                    `json:"error_begins"`
}

// renew writes Salt's results to a file.
func (s *salt) renew(file string, out io.Writer) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var cases []json.RawMessage
	if err := json.Unmarshal(src, &cases); err != nil {
		return err
	}
	changed := 0
	for i, raw := range cases {
		renewed, err := s.answer(raw)
		if err != nil {
			return fmt.Errorf("case %d: %w", i+1, err)
		}
		if !bytes.Equal(raw, renewed) {
			changed++
			cases[i] = renewed
		}
	}
	fmt.Fprintf(out, "%s: %d cases, %d changed\n", file, len(cases), changed)
	if changed == 0 {
		return nil
	}
	return os.WriteFile(file, append(bytes.Join([][]byte{[]byte("[\n  "),
		bytes.Join(asBytes(cases), []byte(",\n  "))}, nil), "\n]\n"...), 0o644)
}

func asBytes(cases []json.RawMessage) [][]byte {
	list := make([][]byte, len(cases))
	for i, c := range cases {
		list[i] = c
	}
	return list
}

// answer returns a case with Salt's result, and the case itself if the result is unchanged.
func (s *salt) answer(raw json.RawMessage) (json.RawMessage, error) {
	var c call
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	value, failure, err := s.ask(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Fun, err)
	}
	if same(c, value, failure) {
		return raw, nil
	}
	answer := []byte(`"value": ` + string(value))
	if failure != "" {
		text, err := json.Marshal(failure)
		if err != nil {
			return nil, err
		}
		answer = []byte(`"error": ` + string(text))
	}
	return append(append(append(question(raw), ", "...), answer...), '}'), nil
}

// answerField matches the beginning of the last field of a case with a result.
var answerField = regexp.MustCompile(`,\s*"(?:value|error|error_begins)"\s*:`)

// question returns the text of a case up to its result, which comes last.
func question(raw json.RawMessage) []byte {
	end := bytes.LastIndexByte(raw, '}')
	for _, at := range answerField.FindAllIndex(raw, -1) {
		head := append(bytes.Clone(raw[:at[0]]), '}')
		if json.Valid(head) { // else the word is part of an argument
			end = at[0]
		}
	}
	return bytes.Clone(bytes.TrimRight(raw[:end], " \n"))
}

// same reports whether a case already has this result.
func same(c call, value json.RawMessage, failure string) bool {
	switch {
	case failure != "":
		return c.Error != nil && *c.Error == failure || c.ErrorBegins != nil &&
			strings.HasPrefix(failure, *c.ErrorBegins)
	case c.Value == nil:
		return false
	case bytes.Contains(c.Value, []byte(`{"$`)):
		// salt-call's output does not show tuples and bytes: such a result is not renewed
		return true
	}
	had, err := vectors.Decode(c.Value)
	if err != nil {
		return false
	}
	has, err := vectors.Decode(value)
	return err == nil && data.Equal(had, has)
}

// ask runs one call and returns its value, or the class and text of its exception.
func (s *salt) ask(c call) (value json.RawMessage, failure string, err error) {
	args := []string{"--local", "--out=json", "--out-indent=-1", "--log-level=quiet", c.Fun}
	for _, a := range c.Args {
		word, err := s.word(a)
		if err != nil {
			return nil, "", err
		}
		args = append(args, word)
	}
	for name, a := range c.Kwargs {
		word, err := s.word(a)
		if err != nil {
			return nil, "", err
		}
		args = append(args, name+"="+word)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(s.program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ran := cmd.Run()
	if exit := new(exec.ExitError); ran != nil && !errors.As(ran, &exit) {
		return nil, "", ran
	}
	kept := strings.NewReplacer(s.kept...)
	var reply map[string]json.RawMessage
	if json.Unmarshal([]byte(kept.Replace(stdout.String())), &reply) == nil &&
		reply["local"] != nil {
		return reply["local"], "", nil
	}
	if failure = exception(kept.Replace(stderr.String())); failure == "" {
		return nil, "", fmt.Errorf("salt-call has no answer: %w\n%s%s", ran, stdout.String(),
			stderr.String())
	}
	return nil, failure, nil
}

// word returns an argument for the command line. Salt parses JSON texts as YAML, except for texts
// with a #, which it uses unchanged.
func (s *salt) word(a json.RawMessage) (string, error) {
	given := strings.NewReplacer(s.given...).Replace(string(a))
	if strings.Contains(given, `{"$`) {
		return "", fmt.Errorf("the argument %s cannot be typed", a)
	}
	var text string
	if json.Unmarshal([]byte(given), &text) == nil && strings.Contains(text, "#") {
		return text, nil
	}
	return given, nil
}

var (
	executionError = regexp.MustCompile(`(?s)^Error running '[^']*': (.*?)\n*$`)
	raised         = regexp.MustCompile(`(?m)^(?:[a-z]\w*\.)*[A-Z]\w+: .*$`)
)

// exception returns the class and text of the exception that salt-call prints, or nothing.
func exception(stderr string) string {
	if m := executionError.FindStringSubmatch(stderr); m != nil {
		return "salt.exceptions.CommandExecutionError: " + m[1]
	}
	all := raised.FindAllString(stderr, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}
