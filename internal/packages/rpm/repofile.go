package rpm

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
)

// A RepoFile is a file of repositories: the text before them, and each as a dictionary of its
// lines. Comments within one are a list under the key comments.
type RepoFile struct {
	Header string
	Repos  *data.Map
}

// ReadRepos reads a file of repositories, or the configuration of the program, as Python's
// configparser does: keys are lower-case, and an indented line continues the previous value.
func ReadRepos(path string) (RepoFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return RepoFile{}, err
	}
	f, err := ParseRepos(string(text))
	if err != nil {
		return RepoFile{}, fmt.Errorf("read %s: %w", path, err)
	}
	return f, nil
}

// ParseRepos parses the text of such a file.
func ParseRepos(text string) (RepoFile, error) {
	p := &repoParser{file: RepoFile{Repos: &data.Map{}}}
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, len(text)+1)
	for s.Scan() {
		p.number++
		if err := p.line(s.Text()); err != nil {
			return RepoFile{}, err
		}
	}
	p.end()
	return p.file, s.Err()
}

type repoParser struct {
	file   RepoFile
	number int
	repo   *data.Map // the current one; nil before the first
	key    string    // whose value may continue; or ""
	value  []string
}

func (p *repoParser) line(line string) error {
	text := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(text, "#"):
		p.comment(text)
	case text == "" || strings.HasPrefix(text, ";"):
		if p.key != "" && text == "" {
			p.value = append(p.value, "")
		}
	case p.key != "" && (line[0] == ' ' || line[0] == '\t'):
		p.value = append(p.value, text)
	case strings.HasPrefix(text, "[") && strings.Contains(text, "]"):
		return p.section(text[1:strings.Index(text, "]")])
	case p.repo == nil:
		return fmt.Errorf("line %d stands in no section", p.number)
	default:
		return p.entry(text)
	}
	return nil
}

func (p *repoParser) comment(text string) {
	if p.repo == nil {
		p.file.Header += text + "\n"
		return
	}
	list, _ := p.repo.Value("comments").([]any)
	p.repo.Set("comments", append(list, strings.TrimLeft(text[1:], " \t")))
}

func (p *repoParser) section(name string) error {
	p.end()
	if p.file.Repos.Has(name) {
		return fmt.Errorf("line %d: section %q stands there twice", p.number, name)
	}
	p.repo = &data.Map{}
	p.file.Repos.Set(name, p.repo)
	return nil
}

func (p *repoParser) entry(text string) error {
	p.end()
	i := strings.IndexAny(text, "=:")
	if i <= 0 {
		return fmt.Errorf("line %d is not a key with a value", p.number)
	}
	p.key, p.value = strings.ToLower(strings.TrimSpace(text[:i])),
		[]string{strings.TrimSpace(text[i+1:])}
	return nil
}

// end finishes a value that might have continued.
func (p *repoParser) end() {
	if p.key != "" {
		p.repo.Set(p.key, strings.TrimRight(strings.Join(p.value, "\n"), "\n"))
	}
	p.key = ""
}

// Text returns the text of a file with these repositories. lead precedes each.
func (f RepoFile) Text(lead string) string {
	var b strings.Builder
	b.WriteString(f.Header)
	for name, v := range f.Repos.All() {
		repo := v.(*data.Map)
		fmt.Fprintf(&b, "%s[%s]\n", lead, data.Str(name))
		for key, value := range repo.All() {
			if key != "comments" {
				fmt.Fprintf(&b, "%s=%s\n", data.Str(key), valueText(value))
			}
		}
		b.WriteString(remarks(repo.Value("comments")) + "\n")
	}
	return b.String()
}

func valueText(v any) string {
	switch v {
	case true:
		return "1"
	case false:
		return "0"
	}
	return strings.ReplaceAll(data.Str(v), "\n", "\n ")
}

// remarks returns comments as lines with comment marks (salt/utils/pkg/rpm.py, combine_comments).
func remarks(v any) string {
	list, ok := v.([]any)
	if !ok && data.Truth(v) {
		list = []any{v}
	}
	var b strings.Builder
	for _, c := range list {
		b.WriteString("# " + strings.TrimLeft(strings.TrimLeft(data.Str(c), "#"), " \t\n") + "\n")
	}
	return b.String()
}

// Write writes the repositories to the file at path. lead precedes each.
func (f RepoFile) Write(path, lead string) error {
	return atomicfile.Write(path, []byte(f.Text(lead)), atomicfile.Options{Mode: 0o644, Keep: true})
}
