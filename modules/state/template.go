package state

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type templateArgs struct {
	Tem    any
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// template runs the states of an SLS file on the minion itself.
//
// tem
//
//	Its path. The ending .sls may be left out.
//
// CLI Example:
//
//	salt '*' state.template '<Path to template on the minion>'
func (m *module) template(ctx context.Context, a templateArgs) (any, error) {
	r, stopped, err := m.begin(ctx,
		sharedArgs{test: m.env.Option("test"), queue: a.Queue, kwargs: a.Kwargs, force: true})
	if r == nil {
		return stopped, err
	}
	if errs := m.pillarErrors(r.highState, a.Kwargs); len(errs) > 0 {
		loader.ContextOf(ctx).SetRetcode(codePillar)
		return nil, loader.ExecutionInfo("Pillar failed to render", errs)
	}
	file := strings.TrimSuffix(data.Str(a.Tem), ".sls") + ".sls"
	high, problems, err := r.compiler.Local(rendering(ctx), file, a.Kwargs.Text("saltenv"))
	if err != nil {
		return nil, saltError(err)
	}
	if len(problems) > 0 {
		return problemResult(ctx, problems)
	}
	result, err := r.runHigh(ctx, high)
	if err == nil {
		judgeRun(ctx, result, high)
	}
	return result, err
}

// templateStr runs the states of a text in SLS form.
//
// tem
//
//	The text.
//
// CLI Example:
//
//	salt '*' state.template_str '<Template String>'
func (m *module) templateStr(ctx context.Context, a templateArgs) (any, error) {
	r, stopped, err := m.begin(ctx,
		sharedArgs{test: m.env.Option("test"), queue: a.Queue, kwargs: a.Kwargs, force: true})
	if r == nil {
		return stopped, err
	}
	high, problems, err := r.compiler.Template(rendering(ctx), data.Str(a.Tem))
	if err != nil {
		return nil, saltError(err)
	}
	var result any
	switch {
	case len(problems) > 0:
		result = data.Values(problems)
	case high == nil:
		result = data.NewMap()
	default:
		if result, err = r.runHigh(ctx, high); err != nil {
			return nil, err
		}
	}
	judge(ctx, result)
	return result, nil
}
