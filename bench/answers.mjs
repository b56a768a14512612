// The responses of w3, w4 and w5: what a handler makes of a model, the same wherever the model came from.

export function ofPerson({ name, email, street, city, age, score, subscribed, birthday }) {
  return { name, email, street, city, nextAge: age + 1, score: score + 0.5, subscribed, year: birthday.getUTCFullYear() }
}

export function ofUpload({ title, author, comment }, name, type, content) {
  const { length } = content
  return { title, author, comment, file: { name, type, size: length, first: content[0], last: content[length - 1] } }
}
