"""Values by the rules of Logic Apps and .NET: arguments, access, printing, numbers, content."""
