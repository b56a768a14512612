// Populating models in tests: from JSON, from a form, and what is refused.

import assert from 'node:assert/strict'
import { inspect } from 'node:util'

import { ModelBindingError } from '../../src/base/errors.ts'
import { type PopulateOptions, populate } from '../../src/model/populate.ts'

export const fromJson = (model: object, text: string, options: PopulateOptions = {}): void =>
  populate(model, { kind: 'json', value: JSON.parse(text) as object }, options)
export const fromForm = (model: object, value: Record<string, string | string[]>, options: PopulateOptions = {}): void =>
  populate(model, { kind: 'form', value: Object.assign(Object.create(null), value) }, options)

/** Runs `act`, which must fail and leave `model` unchanged, and returns the failures. */
export function refused(model: object, act: () => void): string[] {
  const before = inspect(model, { depth: 4 })
  let failures: string[] = []
  assert.throws(act, (error) => {
    assert.ok(error instanceof ModelBindingError)
    failures = error.failures.map(({ name, expected, actual }) => `${name}: ${expected}, not ${actual}`)
    return true
  })
  assert.equal(inspect(model, { depth: 4 }), before)
  return failures
}

export class Address {
  city = ''
  zip = 0
  get label() {
    return `${this.zip} ${this.city}`
  }
}

export class Person {
  name = 'nobody'
  age = 1
  big = 2n
  isAdmin = false
  born = new Date(0)
  tags: string[] = []
  scores = [1, 2]
  address = new Address()
  anything: unknown = null
  greet = () => this.name
}
