package eventbus

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/output"
)

// A Show prints events as they arrive: the tag, a tab and the data as JSON (state.event of Salt's
// runners and modules).
type Show struct {
	Match  string // glob or regular expression for the tag
	Count  int    // number of events to print; -1 means no limit
	Quiet  bool   // only count events
	Pretty bool   // print the data on several lines
	Skip   string // tag to ignore even if it matches
	Print  func(format string, args ...any)
	Log    logrus.FieldLogger
}

// Run prints events of a bus until Count is reached. The error is that of ctx, or of an event that
// cannot be decoded.
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
	text, err := toJSON(body, s.Pretty)
	if err != nil {
		return err
	}
	s.Print("%s\t%s\n", e.Tag, text)
	return nil
}

func toJSON(body *data.Map, pretty bool) (string, error) {
	if !pretty {
		return output.JSON(body)
	}
	return output.IndentedJSON(output.Options{Indent: "pretty"}).Format(body)
}

// tagMatcher returns a matcher for a glob or regular expression (salt/utils/stringutils.py,
// expr_match).
func tagMatcher(expr string) func(tag string) bool {
	glob := match.CompileGlob(expr)
	re, err := match.CompileRegexp(`\A(?:` + expr + `)\Z`)
	return func(tag string) bool { return glob.Match(tag) || err == nil && re.Match(tag) }
}
