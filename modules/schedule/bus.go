package schedule

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
)

const (
	requestTag  = "manage_schedule"
	answerTag   = "/salt/minion/minion_schedule_"
	answerLimit = 30 * time.Second
)

// ask sends a request to the scheduler and returns its answer. It returns nil if no answer arrives
// in time.
func (m *module) ask(ctx context.Context, answer string, pairs ...any) *data.Map {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	body, err := m.env.Await(ctx, answerTag+answer,
		func() error { return m.env.Fire(ctx, requestTag, data.NewMap(pairs...)) })
	if err != nil {
		m.env.Log.WithError(err).Debugf("request %s from the scheduler", answer)
		return nil
	}
	return body
}

// askSchedule sends a request and returns the schedule in the answer. ok is false if there was no
// answer.
func (m *module) askSchedule(
	ctx context.Context, answer string, pairs ...any,
) (schedule *data.Map, ok bool) {
	body := m.ask(ctx, answer, pairs...)
	schedule, ok = body.Value("schedule").(*data.Map)
	return schedule, ok && data.Truth(body.Value("complete"))
}
