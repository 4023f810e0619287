// Package judges has the tests in which SaltGUI and pepper, unchanged, use salt-api as their users do.
//
// Both are clients of Salt's salt-api that people have in front of it. They are not part of this module:
// BRINE_TEST_SALTGUI and BRINE_TEST_PEPPER name the directories of their repositories. BRINE_TEST_SALT
// names an installed Salt, as the option python_salt does. With it the same steps are taken with each pair
// of a salt-api and a master, of Brine or of Salt: also with Salt's own pair, which shows that what the
// steps expect is what Salt does. What the variables do not name is skipped.
package judges
