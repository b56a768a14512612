import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Selection } from './key-paths.ts'

const choices = (selection: Selection, paths: readonly string[]): string[] => paths.map((path) => selection.of(path, false))

test('without include, everything except excluded properties is selected', () => {
  const selection = new Selection(null, ['secret', 'address.city'])
  assert.deepEqual(choices(selection, ['name', 'secret', 'address', 'address.city', 'address.zip']), ['all', 'none', 'most', 'none', 'all'])
})

test('with include, only included properties and the objects that contain them are selected', () => {
  const selection = new Selection(['name', 'address.geo.lat'], undefined)
  const paths = ['name', 'age', 'address', 'address.geo', 'address.geo.lat', 'address.geo.lon', 'address.zip']
  assert.deepEqual(choices(selection, paths), ['all', 'none', 'some', 'some', 'all', 'none', 'none'])
})

test('parts of an included property are included', () => {
  const selection = new Selection(['address'], null)
  assert.equal(selection.of('address.city', true), 'all')
  assert.equal(selection.of('address.city', false), 'none')
})

test('exclude takes precedence over include', () => {
  const selection = new Selection(['name', 'address'], ['name', 'address.city'])
  assert.equal(selection.of('name', false), 'none')
  assert.equal(selection.of('address', false), 'most')
  assert.equal(selection.of('address.city', true), 'none')
})

test('an empty include selects nothing', () => {
  assert.equal(new Selection([], null).of('name', false), 'none')
})

test('names of Object.prototype are names like any other', () => {
  const selection = new Selection(['constructor'], ['toString'])
  assert.deepEqual(choices(selection, ['constructor', 'toString', 'valueOf', 'hasOwnProperty']), ['all', 'none', 'none', 'none'])
})

test('iterables that can be read only once are accepted', () => {
  const once = function* () {
    yield 'a.b'
    yield 'c'
  }
  const selection = new Selection(once(), null)
  assert.deepEqual(choices(selection, ['a', 'a.b', 'c', 'd']), ['some', 'all', 'all', 'none'])
})

test('a single name is refused: it would be a list of letters', () => {
  assert.throws(() => new Selection('name', null), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => new Selection(null, 'name'), { code: 'WEIR_OPTION_INVALID' })
})
