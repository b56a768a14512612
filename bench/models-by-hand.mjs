// Hand-written validation of what w3, w4 and w12 send, for the servers without schemas: it does what a framework's schema would do. Each
// function returns null for what does not fit.
import { parse } from 'node:querystring'

export class Person {
  name = ''
  email = ''
  street = ''
  city = ''
  age = 0
  score = 0
  subscribed = false
  birthday = new Date(0)
}

export function personOfJson(text) {
  let value
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  if (!Number.isFinite(value.age) || !Number.isFinite(value.score) || typeof value.subscribed !== 'boolean') return null
  return personOf(value, value.age, value.score, value.subscribed)
}

const NUMBER = /^-?\d+(?:\.\d+)?$/

export function personOfForm(text) {
  const value = parse(text)
  if (!NUMBER.test(value.age) || !NUMBER.test(value.score)) return null
  if (value.subscribed !== 'true' && value.subscribed !== 'false') return null
  return personOf(value, Number(value.age), Number(value.score), value.subscribed === 'true')
}

function personOf({ name, email, street, city, birthday }, age, score, subscribed) {
  if (typeof name !== 'string' || typeof email !== 'string' || typeof street !== 'string' || typeof city !== 'string') return null
  const person = new Person()
  person.name = name
  person.email = email
  person.street = street
  person.city = city
  person.age = age
  person.score = score
  person.subscribed = subscribed
  person.birthday = new Date(birthday)
  return Number.isNaN(person.birthday.getTime()) ? null : person
}

const INTEGER = /^-?\d{1,15}$/

export function integerOf(text) {
  return INTEGER.test(text) ? Number(text) : null
}
