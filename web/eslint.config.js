/** The linter of the page: the rules of TypeScript, and those of React's hooks. */
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["src/api/schema.d.ts"] },
  ...tseslint.configs.recommended,
  reactHooks.configs.flat["recommended-latest"],
  {
    rules: {
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
      // Our own hooks that take a function and what it uses.
      "react-hooks/exhaustive-deps": ["error", { additionalHooks: "^(useJournal|useLoad)$" }],
    },
  },
);
