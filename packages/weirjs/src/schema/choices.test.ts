import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

test('from text, true and false are exactly true, false, 1 and 0', () => {
  assert.equal(t.bool.fromText('true'), true)
  assert.equal(t.bool.fromText('1'), true)
  assert.equal(t.bool.fromText('false'), false)
  assert.equal(t.bool.fromText('0'), false)
  for (const text of ['', 'TRUE', 'True', 'yes', 'on', 'no', '2', ' true', 'null'])
    assert.ok(t.bool.fromText(text) instanceof Mismatch, text)
})

test('from JSON, only true and false are', () => {
  assert.equal(t.bool.fromValue(true), true)
  assert.equal(t.bool.fromValue(false), false)
  for (const value of ['false', 'true', 0, 1, null, {}, []]) assert.ok(t.bool.fromValue(value) instanceof Mismatch)
  assert.deepEqual(t.bool.fromValue('false'), new Mismatch('true or false', '"false"'))
  assert.deepEqual(t.bool.jsonSchema(), { type: 'boolean' })
})

test('an enumeration accepts its members and nothing else', () => {
  const way = t.enum('up', 'down')
  assert.equal(way.fromText('up'), 'up')
  assert.equal(way.fromValue('down'), 'down')
  for (const text of ['', 'UP', 'up ', 'constructor', '__proto__']) assert.ok(way.fromText(text) instanceof Mismatch, text)
  for (const value of [0, null, ['up'], { up: 1 }]) assert.ok(way.fromValue(value) instanceof Mismatch)
  assert.deepEqual(way.fromText('x'), new Mismatch('one of "up", "down"', 'x'))
  assert.equal(t.enum('up').describe(), '"up"')
  assert.deepEqual(way.jsonSchema(), { type: 'string', enum: ['up', 'down'] })
})

test('a number of an enumeration is written as text in a query and as a number in JSON', () => {
  const level = t.enum(0, 1, 'all')
  assert.equal(level.fromText('0'), 0)
  assert.equal(level.fromValue(1), 1)
  assert.ok(level.fromValue('1') instanceof Mismatch)
  assert.ok(level.fromText('1.0') instanceof Mismatch)
  assert.deepEqual(level.jsonSchema(), { type: ['number', 'string'], enum: [0, 1, 'all'] })
  assert.deepEqual(level.nullable().jsonSchema(), { type: ['number', 'string', 'null'], enum: [0, 1, 'all', null] })
})

test('an enumeration without members, or with two that are the same as text, is refused', () => {
  assert.throws(() => t.enum(), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => t.enum(1, '1'), { code: 'WEIR_OPTION_INVALID' })
})
