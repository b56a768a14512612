// The models of w3 and w5 read by hand: what a framework's schema would do, for the servers that have none. Each gives null for what does
// not fit.
import { parse } from 'node:querystring'

export class User {
  id = ''
  name = ''
  email = ''
  creation = new Date(0)
  enabled = false
  logins = 0
  tags = []
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function readUser(text) {
  let value
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const user = new User()
  if (typeof value.id !== 'string' || !UUID.test(value.id)) return null
  user.id = value.id
  if (typeof value.name !== 'string' || typeof value.email !== 'string') return null
  user.name = value.name
  user.email = value.email
  user.creation = new Date(value.creation)
  if (Number.isNaN(user.creation.getTime())) return null
  if (typeof value.enabled !== 'boolean' || !Number.isFinite(value.logins)) return null
  user.enabled = value.enabled
  user.logins = value.logins
  if (!Array.isArray(value.tags) || !value.tags.every((tag) => typeof tag === 'string')) return null
  user.tags = value.tags
  return user
}

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
