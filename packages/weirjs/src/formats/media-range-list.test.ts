import assert from 'node:assert/strict'
import { test } from 'node:test'

import { mediaRangeList } from './media-range-list.ts'

test('a media range is a token where it can be one, otherwise a string', () => {
  assert.equal(mediaRangeList(['application/json', 'text/*', '*/*']), 'application/json, text/*, */*')
  assert.equal(mediaRangeList(['Application/SQL']), 'application/sql')
  assert.equal(mediaRangeList(['3gpp/x']), '"3gpp/x"')
  assert.equal(mediaRangeList([]), '')
})

test('parameters are parameters of the item, with tokens or strings as values', () => {
  assert.equal(mediaRangeList(['application/sql; charset=UTF-8']), 'application/sql;charset=UTF-8')
  assert.equal(mediaRangeList(['a/b;level=1; Note="a \\"b\\" \\\\"']), 'a/b;level="1";note="a \\"b\\" \\\\"')
  assert.equal(mediaRangeList(['a/b;x=""']), 'a/b;x=""')
})

test('what a structured field cannot hold is null', () => {
  for (const range of ['json', '', 'a/b;1=x', 'a/b;x!=y', 'a/b;x="ä"', 'a/b;x', 'a/b;x="\t"']) {
    assert.equal(mediaRangeList(['a/b', range]), null, range)
  }
})
