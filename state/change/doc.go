// Package change is the toolkit for state functions: functions that bring one part of a system to
// its desired state and report what they changed.
//
// A state function is a function of package loader that returns a dictionary with name, changes,
// result and comment. New builds one. CallOf returns the call that the function runs in, with the
// data of Salt's dunders: test mode (__opts__["test"]), the low chunk (__low__), earlier results
// (__running__), the environment (__env__).
//
// Most states are a Thing. A Thing has one function that reads, one that compares and one that
// applies. Ensure uses the same functions for the check, for test mode and for the real run, so
// that their reports agree:
//
//	func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
//		return change.Thing[*account]{
//			Name:  a.Name,
//			Look:  func(ctx context.Context) (*account, error) { return m.account(ctx, a.Name) },
//			Wants: func(now *account) *data.Map { return now.lacks(a) },
//			Apply: func(ctx context.Context, now *account) error { return m.bring(ctx, now, a) },
//			Texts: change.Texts{
//				Same:  "User " + a.Name + " is present and up to date",
//				Would: "User " + a.Name + " set to be added",
//				Done:  "New user " + a.Name + " created",
//			},
//		}.Ensure(ctx)
//	}
//
// Rules for every Thing: Look and Wants do not write. In test mode Apply is not called. After
// Apply, Ensure calls Look again and reports the actual differences as changes. If the thing still
// differs from the desired state, the state fails. A second run finds nothing to do.
//
// docs/writing-state-modules.md walks through writing a state, from an empty file to its test.
package change
