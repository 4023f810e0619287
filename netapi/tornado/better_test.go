package tornado_test

import "github.com/brineproject/brine/internal/test/netapitest"

// better returns where we answer another way than Salt, by the names of exchanges. TestBetter has those
// that were not recorded.
func better() map[string]netapitest.Difference { return map[string]netapitest.Difference{} }
