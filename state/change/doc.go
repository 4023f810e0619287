// Package change is what states are made of: functions that bring one thing of a system to how it is wanted, and say what they
// changed.
//
// A state function is a function of package loader whose result is a dictionary with name, changes, result and comment; New makes
// one. CallOf tells it in which run it is called, Salt's dunders: whether it is test mode (__opts__["test"]), the low chunk
// (__low__), what ran before it (__running__), the environment (__env__).
//
// Most states are a Thing. It has one way to look, one comparison and one way to apply, and Ensure uses them so that check, test
// mode and the real run cannot tell different stories:
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
// What holds for every Thing: Look and Wants do not write. In test mode Apply is not reached. After Apply the thing is looked at
// again, changes are what is different then, and a thing that is still not as wanted is a failure. A second run finds nothing
// to do.
//
// docs/states.md shows a state from the empty file to its test.
package change
