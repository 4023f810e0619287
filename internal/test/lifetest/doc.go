// Package lifetest proves with real processes that a master and its minions survive every way of being stopped. It has
// tests only.
package lifetest
