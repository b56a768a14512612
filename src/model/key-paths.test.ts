import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Selection } from './key-paths.ts'

const choices = (selection: Selection, paths: readonly string[]): string[] => paths.map((path) => selection.of(path, false))

test('without include everything is chosen, but for what is excluded', () => {
  const selection = new Selection(null, ['secret', 'address.city'])
  assert.deepEqual(choices(selection, ['name', 'secret', 'address', 'address.city', 'address.zip']), ['all', 'none', 'most', 'none', 'all'])
})

test('with include nothing else is chosen, but for the way there', () => {
  const selection = new Selection(['name', 'address.geo.lat'], undefined)
  const paths = ['name', 'age', 'address', 'address.geo', 'address.geo.lat', 'address.geo.lon', 'address.zip']
  assert.deepEqual(choices(selection, paths), ['all', 'none', 'some', 'some', 'all', 'none', 'none'])
})

test('what lies in an included property is included', () => {
  const selection = new Selection(['address'], null)
  assert.equal(selection.of('address.city', true), 'all')
  assert.equal(selection.of('address.city', false), 'none')
})

test('exclude goes before include', () => {
  const selection = new Selection(['name', 'address'], ['name', 'address.city'])
  assert.equal(selection.of('name', false), 'none')
  assert.equal(selection.of('address', false), 'most')
  assert.equal(selection.of('address.city', true), 'none')
})

test('an empty include chooses nothing', () => {
  assert.equal(new Selection([], null).of('name', false), 'none')
})

test('names like those of Object.prototype are names', () => {
  const selection = new Selection(['constructor'], ['toString'])
  assert.deepEqual(choices(selection, ['constructor', 'toString', 'valueOf', 'hasOwnProperty']), ['all', 'none', 'none', 'none'])
})

test('iterables that can be read only once are enough', () => {
  const once = function* () {
    yield 'a.b'
    yield 'c'
  }
  const selection = new Selection(once(), null)
  assert.deepEqual(choices(selection, ['a', 'a.b', 'c', 'd']), ['some', 'all', 'all', 'none'])
})

test('a name by itself is refused, where it would have been a list of letters', () => {
  assert.throws(() => new Selection('name', null), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => new Selection(null, 'name'), { code: 'WEIR_OPTION_INVALID' })
})
