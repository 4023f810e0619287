package mysql

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// A statement is what to execute, with which function of the module mysql, and in which database.
type statement struct {
	m        *module
	name     any
	database any
	conn     *data.Map
	fun      string
	text     any
}

// missing returns the result of a state whose database does not exist, or cannot be checked. It
// returns nil if it exists.
func (s statement) missing(ctx context.Context, named any) (any, error) {
	there, err := s.m.call(ctx, "db_exists", s.conn, nil, s.database)
	if err != nil || data.Truth(there) {
		return nil, err
	}
	if text := serverError(ctx); text != "" {
		return change.Failed(s.name, text), nil
	}
	return change.Would(s.name, nil,
		fmt.Sprintf("Database %s is not present", data.Str(named))), nil
}

// ensure executes the statement unless the target has a result that is to be kept.
func (s statement) ensure(ctx context.Context, to target) (any, error) {
	if to.nameless() {
		return change.Failed(s.name, "Error: output type 'grain' needs the grain parameter\n"), nil
	}
	there, err := s.m.has(ctx, to)
	switch {
	case err != nil:
		return change.Failed(s.name, err.Error()), nil
	case there && to.stays():
		return change.Unchanged(s.name,
				fmt.Sprintf("No execution needed. %s already set", to.title())),
			nil
	case change.Test(ctx):
		return change.Would(s.name, nil, "Query would execute, "+to.plan()), nil
	}
	return s.execute(ctx, to)
}

func (s statement) execute(ctx context.Context, to target) (any, error) {
	v, err := s.m.call(ctx, s.fun, s.conn, nil, s.database, s.text)
	if err != nil {
		return nil, err
	}
	answer, ok := v.(*data.Map)
	if !ok || answer.Len() == 0 {
		return change.Failed(s.name, s.refused(serverError(ctx))), nil
	}
	r := result{answer.Clone(), s.fun == "file_query"}
	r.name()
	if err := s.m.store(ctx, to, r); err != nil {
		return change.New(s.name, false, data.NewMap("query", "Executed"),
			fmt.Sprintf("%s\n%v", r.text(), err)), nil
	}
	return change.New(s.name, true, data.NewMap("query", "Executed"+to.into()), r.text()), nil
}

// refused returns the comment for a statement that was not executed.
func (s statement) refused(text string) string {
	switch {
	case s.fun == "query" && text != "":
		return text
	case s.fun == "query":
		return "Query could not be executed"
	case text != "":
		text = " (" + text + ")"
	}
	return fmt.Sprintf("Database %s is already present", data.Str(s.database)) + text
}
