// The models of w2, w3 and w5 for the frameworks that leave validation to a library: zod is what their users take.
import { z } from 'zod'

const text = z.string()

export const UserId = z.object({ id: z.coerce.number().int() })
export const UserQuery = z.object({ active: z.stringbool().default(false) })

export const User = z.object({
  id: z.uuid(),
  name: text,
  email: text,
  creation: z.coerce.date(),
  enabled: z.boolean(),
  logins: z.number(),
  tags: z.array(text),
})

const address = { name: text, email: text, street: text, city: text }

export const Person = z.object({ ...address, age: z.number(), score: z.number(), subscribed: z.boolean(), birthday: z.coerce.date() })

/** The same from a form, where everything is text. */
export const PersonForm = z.object({
  ...address,
  age: z.coerce.number(),
  score: z.coerce.number(),
  subscribed: z.stringbool(),
  birthday: z.coerce.date(),
})
