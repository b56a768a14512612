import { cookies } from 'next/headers'

async function greet(form) {
  'use server'
  const jar = await cookies()
  jar.set('name', String(form.get('name')), { httpOnly: true })
}

export default async function Other() {
  const name = (await cookies()).get('name')?.value
  return (
    <main>
      <h1>Other</h1>
      <p id="greeting">{name ? `Hello ${name}` : 'Who are you?'}</p>
      <form action={greet}>
        <input name="name" aria-label="Name" />
        <button type="submit">Send</button>
      </form>
    </main>
  )
}
