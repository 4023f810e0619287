package state

import "context"

type stepArgs struct {
	Jid     any
	StateID any `default:"None"`
}

type pauseArgs struct {
	Jid      any
	StateID  any `default:"None"`
	Duration any `default:"None"`
}

// pause makes a running orchestration wait before the state of an id, or before the next one.
//
// jid
//
//	Its job ID.
//
// duration
//
//	Seconds. Default: until state.resume.
//
// CLI Example:
//
//	salt-run state.pause 20171130110407769519
//	salt-run state.pause 20171130110407769519 deploy 20
func (m *module) pause(ctx context.Context, a pauseArgs) (any, error) {
	_, err := m.invoke(ctx, "state.pause", []any{a.Jid, a.StateID, a.Duration}, nil)
	return nil, err
}

// resume continues an orchestration that state.pause stopped.
//
// CLI Example:
//
//	salt-run state.resume 20171130110407769519
//	salt-run state.resume 20171130110407769519 deploy
func (m *module) resume(ctx context.Context, a stepArgs) (any, error) {
	_, err := m.invoke(ctx, "state.resume", []any{a.Jid, a.StateID}, nil)
	return nil, err
}

// softKill ends a running orchestration before the state of an id, or before the next one.
//
// CLI Example:
//
//	salt-run state.soft_kill 20171130110407769519
//	salt-run state.soft_kill 20171130110407769519 deploy
func (m *module) softKill(ctx context.Context, a stepArgs) (any, error) {
	_, err := m.invoke(ctx, "state.soft_kill", []any{a.Jid, a.StateID}, nil)
	return nil, err
}
