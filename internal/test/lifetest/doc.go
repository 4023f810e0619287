// Package lifetest tests with real processes that a master and its minions survive every way of
// being stopped. It contains only tests.
package lifetest
