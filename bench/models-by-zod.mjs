// The models of w2, w3, w4 and w12 for frameworks that leave validation to a library. zod is what their users choose.
import { z } from 'zod'

const text = z.string()

const integer = z.coerce.number().int()

export const UserId = z.object({ id: integer })
export const UserQuery = z.object({ active: z.stringbool().default(false) })

const address = { name: text, email: text, street: text, city: text }

export const Person = z.object({ ...address, age: z.number(), score: z.number(), subscribed: z.boolean(), birthday: z.coerce.date() })

/** The same from a form, in which everything is text. */
export const PersonForm = z.object({
  ...address,
  age: z.coerce.number(),
  score: z.coerce.number(),
  subscribed: z.stringbool(),
  birthday: z.coerce.date(),
})

export const Summands = z.object({ a: integer, b: integer })
export const Summand = integer
export const Count = z.object({ count: integer })
export const Factor = z.object({ m: integer })
