package eventbus

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/output"
)

// A Show prints events as they come: the tag, a tab and the contents as JSON (state.event of Salt's runners and modules).
type Show struct {
	Match  string // a glob or a regular expression for the tag
	Count  int    // after how many events it ends; -1 never
	Quiet  bool   // print nothing
	Pretty bool   // the contents on several lines
	Skip   string // a tag that is not meant, whatever Match says
	Print  func(format string, args ...any)
	Log    logrus.FieldLogger
}

// Run prints the events of a bus until there were enough of them. The error is that of ctx, or of an event that cannot be read.
func (s Show) Run(ctx context.Context, bus *Watcher) error {
	fits := tagMatcher(s.Match)
	for {
		e, err := bus.Next(ctx)
		if err != nil {
			return err
		}
		if !fits(e.Tag) || e.Tag == s.Skip {
			s.Log.Debugf("Skipping event tag: %s", e.Tag)
			continue
		}
		if err := s.print(e); err != nil {
			return fmt.Errorf("event %s: %w", e.Tag, err)
		}
		if s.Count > 0 {
			s.Count--
			s.Log.Debugf("Remaining event matches: %d", s.Count)
		}
		if s.Count == 0 {
			return nil
		}
	}
}

func (s Show) print(e Event) error {
	if s.Quiet {
		return nil
	}
	body, err := e.Map()
	if err != nil {
		return err
	}
	text, err := asJSON(body, s.Pretty)
	if err != nil {
		return err
	}
	s.Print("%s\t%s\n", e.Tag, text)
	return nil
}

func asJSON(body *data.Map, pretty bool) (string, error) {
	if !pretty {
		return output.JSON(body)
	}
	o, err := output.New("json", output.Options{Indent: "pretty"})
	if err != nil {
		return "", err
	}
	return o.Format(body)
}

// tagMatcher reads a glob or a regular expression (salt/utils/stringutils.py, expr_match).
func tagMatcher(expr string) func(tag string) bool {
	glob := match.CompileGlob(expr)
	re, err := match.CompileRegexp(`\A(?:` + expr + `)\Z`)
	return func(tag string) bool { return glob.Match(tag) || err == nil && re.Match(tag) }
}
