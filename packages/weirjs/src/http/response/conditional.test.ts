import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type ConditionalRequest, evaluatePreconditions, MOST_TAGS, rangeApplies, type Validators, type Verdict } from './conditional.ts'

const NOW = Date.UTC(2024, 5, 15)
const CHANGED = 'Sun, 06 Nov 1994 08:49:37 GMT'
const BEFORE = 'Sun, 06 Nov 1994 08:49:36 GMT'
const AFTER = 'Sun, 06 Nov 1994 08:49:38 GMT'
const STRONG: Validators = { etag: '"a"', lastModified: Date.parse(CHANGED), isSettled: true }
const WEAK: Validators = { ...STRONG, etag: 'W/"a"', isSettled: false }
const NOTHING: Validators = { etag: null, lastModified: null, isSettled: true }

type Fields = Readonly<Record<string, string>>

function requestOf(fields: Fields, method = 'GET'): ConditionalRequest {
  return { method, get: (name) => fields[name] ?? null }
}

const CASES: readonly (readonly [says: string, current: Validators, fields: Fields, verdict: Verdict])[] = [
  ['without conditions the file is sent', STRONG, {}, 'send'],

  ['If-Match holds for the current tag', STRONG, { 'if-match': '"b", "a"' }, 'send'],
  ['If-Match holds for any state', NOTHING, { 'if-match': '*' }, 'send'],
  ['If-Match fails for other tags', STRONG, { 'if-match': '"b", "aa", ""' }, 'failed'],
  ['If-Match fails for a weak tag in the request', STRONG, { 'if-match': 'W/"a"' }, 'failed'],
  ['If-Match fails if the current tag is weak', WEAK, { 'if-match': '"a", W/"a"' }, 'failed'],
  ['If-Match fails if there is no current tag', NOTHING, { 'if-match': '"a"' }, 'failed'],
  ['If-Match fails if it is not a list of tags', STRONG, { 'if-match': 'a' }, 'failed'],
  ['a comma within a tag does not split it', { ...STRONG, etag: '"a,b"' }, { 'if-match': '"x","a,b"' }, 'send'],

  ['If-Match holds for the tag of the state in a coding', STRONG, { 'if-match': '"b", "a~br"' }, 'send'],
  ['If-Match fails for another state in a coding', STRONG, { 'if-match': '"b~br"' }, 'failed'],
  ['If-Match fails for two codings', STRONG, { 'if-match': '"a~br~gzip"' }, 'failed'],
  ['If-Match fails for a weak tag of a coding', STRONG, { 'if-match': 'W/"a~br"' }, 'failed'],
  ['If-Match fails for the tag of a weak state in a coding', WEAK, { 'if-match': '"a~br"' }, 'failed'],
  ['a coding that the server does not make is another state', STRONG, { 'if-match': '"a~rot13"' }, 'failed'],
  ["a program's own tag may end like a coding", { ...STRONG, etag: '"a~br"' }, { 'if-match': '"a~br"' }, 'send'],
  ["a program's own tag that ends like a coding may have one", { ...STRONG, etag: '"a~br"' }, { 'if-match': '"a~br~gzip"' }, 'send'],
  ["a program's own tag that ends like a coding is not the tag without it", { ...STRONG, etag: '"a~br"' }, { 'if-match': '"a"' }, 'failed'],

  ['If-None-Match matches the state in a coding', STRONG, { 'if-none-match': '"a~br"' }, 'not modified'],
  ['If-None-Match matches it weakly', STRONG, { 'if-none-match': 'W/"a~br"' }, 'not modified'],
  ['If-None-Match matches a coding that is accepted', STRONG, { 'if-none-match': '"a~br"', 'accept-encoding': 'gzip, br' }, 'not modified'],
  ['If-None-Match does not match one that is not', STRONG, { 'if-none-match': '"a~br"', 'accept-encoding': 'gzip' }, 'send'],
  ['nor one that is refused', STRONG, { 'if-none-match': '"a~br"', 'accept-encoding': 'br;q=0, *' }, 'send'],

  ['If-Unmodified-Since holds at the time of the change', STRONG, { 'if-unmodified-since': CHANGED }, 'send'],
  ['If-Unmodified-Since fails before it', STRONG, { 'if-unmodified-since': BEFORE }, 'failed'],
  ['If-Unmodified-Since is ignored if it is not a date', STRONG, { 'if-unmodified-since': '1990' }, 'send'],
  ['If-Unmodified-Since is ignored if no date is known', NOTHING, { 'if-unmodified-since': BEFORE }, 'send'],
  ['If-Unmodified-Since is ignored if there is If-Match', STRONG, { 'if-match': '"a"', 'if-unmodified-since': BEFORE }, 'send'],

  ['If-None-Match matches the current tag', STRONG, { 'if-none-match': '"b", "a"' }, 'not modified'],
  ['If-None-Match compares weakly: weak in the request', STRONG, { 'if-none-match': 'W/"a"' }, 'not modified'],
  ['If-None-Match compares weakly: weak in the response', WEAK, { 'if-none-match': '"a"' }, 'not modified'],
  ['If-None-Match: * matches any state', STRONG, { 'if-none-match': '*' }, 'not modified'],
  ['If-None-Match does not match another tag', STRONG, { 'if-none-match': '"b"' }, 'send'],
  ['If-None-Match matches nothing if there is no current tag', NOTHING, { 'if-none-match': '"a"' }, 'send'],
  ['If-None-Match may have empty elements', STRONG, { 'if-none-match': ' ,, "b" ,,\t"a",' }, 'not modified'],
  ['If-None-Match with text after a tag matches nothing', STRONG, { 'if-none-match': '"a"garbage' }, 'send'],
  ['If-None-Match with text before a tag matches nothing', STRONG, { 'if-none-match': 'x"a"' }, 'send'],
  ['If-None-Match with an invalid element matches nothing', STRONG, { 'if-none-match': 'garbage, "a"' }, 'send'],
  ['If-None-Match without a comma between tags matches nothing', STRONG, { 'if-none-match': '"a" "b"' }, 'send'],
  ['If-None-Match with a lower-case w matches nothing', STRONG, { 'if-none-match': 'w/"a"' }, 'send'],
  ['If-None-Match with an unclosed tag matches nothing', STRONG, { 'if-none-match': '"a", "b' }, 'send'],
  ['If-None-Match with a star among tags matches nothing', STRONG, { 'if-none-match': '*, "a"' }, 'send'],
  ['If-Match with text after a tag fails', STRONG, { 'if-match': '"a"garbage' }, 'failed'],
  ['Cache-Control of the request changes nothing', STRONG, { 'if-none-match': '"a"', 'cache-control': 'no-cache' }, 'not modified'],

  ['If-Modified-Since at the time of the change', STRONG, { 'if-modified-since': CHANGED }, 'not modified'],
  ['If-Modified-Since after it', STRONG, { 'if-modified-since': AFTER }, 'not modified'],
  ['If-Modified-Since before it', STRONG, { 'if-modified-since': BEFORE }, 'send'],
  ['If-Modified-Since may have an obsolete format', STRONG, { 'if-modified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 'not modified'],
  [
    'If-Modified-Since is ignored if it is not an HTTP date, even if JavaScript can parse it',
    STRONG,
    { 'if-modified-since': '2030' },
    'send',
  ],
  ['If-Modified-Since is ignored if no date is known', NOTHING, { 'if-modified-since': AFTER }, 'send'],
  ['If-Modified-Since is ignored if there is If-None-Match', STRONG, { 'if-none-match': '"b"', 'if-modified-since': AFTER }, 'send'],
  ['If-Modified-Since is ignored if there is an empty If-None-Match', STRONG, { 'if-none-match': '', 'if-modified-since': AFTER }, 'send'],

  ['If-Match is evaluated before If-None-Match', STRONG, { 'if-match': '"b"', 'if-none-match': '"a"' }, 'failed'],
  ['If-None-Match is evaluated after If-Match', STRONG, { 'if-match': '"a"', 'if-none-match': '"a"' }, 'not modified'],
  [
    'If-Modified-Since is evaluated after If-Unmodified-Since',
    STRONG,
    { 'if-unmodified-since': AFTER, 'if-modified-since': AFTER },
    'not modified',
  ],
]

for (const [says, current, fields, verdict] of CASES) {
  test(`preconditions: ${says}`, () => assert.equal(evaluatePreconditions(requestOf(fields), current, NOW), verdict))
}

const METHOD_CASES: readonly (readonly [says: string, method: string, current: Validators | null, fields: Fields, verdict: Verdict])[] = [
  ['PUT without conditions', 'PUT', STRONG, {}, 'send'],
  ['PUT of the state that the client has', 'PUT', STRONG, { 'if-match': '"a"' }, 'send'],
  ['PUT of another state', 'PUT', STRONG, { 'if-match': '"b"' }, 'failed'],
  ['PUT of any state that exists', 'PUT', STRONG, { 'if-match': '*' }, 'send'],
  ['PUT of any state, and there is none', 'PUT', null, { 'if-match': '*' }, 'failed'],
  ['PUT of one state, and there is none', 'PUT', null, { 'if-match': '"a"' }, 'failed'],
  ['PUT only if there is none, and there is one', 'PUT', STRONG, { 'if-none-match': '*' }, 'failed'],
  ['PUT only if there is none, and there is none', 'PUT', null, { 'if-none-match': '*' }, 'send'],
  ['PUT unless it is that state', 'PUT', STRONG, { 'if-none-match': '"a"' }, 'failed'],
  ['DELETE unless changed since', 'DELETE', STRONG, { 'if-unmodified-since': BEFORE }, 'failed'],
  ['If-Unmodified-Since is ignored if there is no resource', 'DELETE', null, { 'if-unmodified-since': BEFORE }, 'send'],
  ['If-Modified-Since is ignored for PUT', 'PUT', STRONG, { 'if-modified-since': AFTER }, 'send'],
  ['POST is conditional too', 'POST', STRONG, { 'if-match': '"b"' }, 'failed'],
  ['HEAD like GET', 'HEAD', STRONG, { 'if-none-match': '"a"' }, 'not modified'],
  ['QUERY like GET', 'QUERY', STRONG, { 'if-modified-since': AFTER }, 'not modified'],
  ['GET of nothing', 'GET', null, { 'if-none-match': '*', 'if-modified-since': AFTER }, 'send'],
  ['OPTIONS has no conditions', 'OPTIONS', STRONG, { 'if-match': '"b"', 'if-none-match': '*' }, 'send'],
]

for (const [says, method, current, fields, verdict] of METHOD_CASES) {
  test(`preconditions of a method: ${says}`, () => assert.equal(evaluatePreconditions(requestOf(fields, method), current, NOW), verdict))
}

const RANGE_CASES: readonly (readonly [says: string, current: Validators, ifRange: string, applies: boolean])[] = [
  ['the current strong tag', STRONG, '"a"', true],
  ['another tag', STRONG, '"b"', false],
  ['a weak tag, although it is the current one', WEAK, 'W/"a"', false],
  ['a strong tag if the current one is weak', WEAK, '"a"', false],
  ['a tag if there is no current one', NOTHING, '"a"', false],
  ['the exact date', STRONG, CHANGED, true],
  ['the exact date of a file that may still change within that second', WEAK, CHANGED, false],
  ['a later date', STRONG, AFTER, false],
  ['a date if none is known', NOTHING, CHANGED, false],
  ['an invalid date', NOTHING, 'yesterday', false],
]

for (const [says, current, ifRange, applies] of RANGE_CASES) {
  test(`If-Range: ${says} ${applies ? 'applies the range' : 'sends the whole file'}`, () => {
    assert.equal(rangeApplies(requestOf({ 'if-range': ifRange }), current, NOW), applies)
  })
}

test('If-Range: without it every range applies', () => assert.equal(rangeApplies(requestOf({}), NOTHING, NOW), true))

test('the last tag that is allowed counts, and one more decides for the safe side', () => {
  const list = (length: number): string => [...Array.from({ length: length - 1 }, (_, i) => `"x${i}"`), '"a"'].join(', ')
  const verdicts = (length: number): Verdict[] => [
    evaluatePreconditions(requestOf({ 'if-match': list(length) }, 'PUT'), STRONG, NOW),
    evaluatePreconditions(requestOf({ 'if-none-match': list(length) }), STRONG, NOW),
    evaluatePreconditions(requestOf({ 'if-none-match': list(length) }, 'PUT'), STRONG, NOW),
    evaluatePreconditions(requestOf({ 'if-none-match': list(length) }, 'PUT'), null, NOW),
  ]
  assert.deepEqual(verdicts(MOST_TAGS), ['send', 'not modified', 'failed', 'send'])
  assert.deepEqual(verdicts(MOST_TAGS + 1), ['failed', 'send', 'failed', 'send'])
})

test('Accept-Encoding is read once for each coding, however many tags the client lists', () => {
  let reads = 0
  const list = Array.from({ length: MOST_TAGS }, (_, i) => (i % 2 === 0 ? '"a~br"' : '"a~gzip"')).join(',')
  const fields: Fields = { 'if-none-match': list, 'accept-encoding': 'zstd' }
  const get = (name: string): string | null => {
    if (name === 'accept-encoding') reads++
    return fields[name] ?? null
  }
  assert.equal(evaluatePreconditions({ method: 'GET', get }, STRONG, NOW), 'send')
  assert.equal(reads, 2)
})
